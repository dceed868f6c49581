"""The line that states what was predicted."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.report.predictor.text.headline import headline

ROW = {"model": "gpt", "task": "training", "dtype": "bfloat16", "execution": "eager", "batch_size": 4.0}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{}], "gpt, training, bfloat16, eager, batch size 4"),
        (
            [{"batch_size": 8.0}, {"task": "inference"}],
            "gpt, training and inference, bfloat16, eager, batch sizes 4 and 8",
        ),
        ([{"model": name} for name in "abcd"], "4 models, training, bfloat16, eager, batch size 4"),
        ([{"batch_size": float(size)} for size in range(4)], "gpt, training, bfloat16, eager"),
        ([{"model": "net.onnx", "dtype": "", "execution": ""}], "net.onnx, training, batch size 4"),
    ],
)
def test_the_headline_has_what_cases_are(rows: list[dict[str, object]], expected: str) -> None:
    assert headline(pd.DataFrame([{**ROW, **row} for row in rows])) == expected
