"""Mistakes in files of operators that are found before a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.plan.operator_files import mistakes

RIGHT = """
import numpy
def inputs(random, rows, columns=4): return {"x": random.standard_normal((rows, columns))}
def forward(x): return x
reference = numpy.array
"""


def found(tmp_path: Path, text: str | bytes | None, **sizes: Any) -> list[str]:
    if text is not None:
        (tmp_path / "op.py").write_bytes(text.encode() if isinstance(text, str) else text)
    given = {"framework": "pytorch", "task": "operator", "operator": {"python": "op.py"}, "sizes": sizes}
    network = Parameters.model_validate({"framework": "pytorch", "model": "mlp"})
    return list(mistakes([network, *[Parameters.model_validate(given)] * 2], tmp_path))


def test_a_right_file_has_none(tmp_path: Path) -> None:
    assert found(tmp_path, RIGHT, rows=3, columns=5) == []
    assert found(tmp_path, RIGHT.replace("def forward(x): return x", "from numpy import sin as forward")) == []
    assert found(tmp_path, "if True:\n    def inputs(random): ...\n    forward = reference = inputs", rows=1) == []
    assert found(tmp_path, "from other import *\n", rows=3) == []


def test_a_file_that_is_missing_or_no_file_is_found_elsewhere(tmp_path: Path) -> None:
    assert found(tmp_path, None) == []
    (tmp_path / "op.py").mkdir()
    assert found(tmp_path, None) == []


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        (RIGHT.replace("reference =", "ref ="), {}, "op.py: function 'reference' not found"),
        (
            RIGHT,
            {"rows": 3, "colums": 5},
            "op.py:3: 'inputs' has no argument 'colums' for the size; it has: rows, columns",
        ),
        (
            "def inputs(random): ...\nforward = reference = 1",
            {"m": 3},
            "op.py:1: 'inputs' has no argument 'm' for the ",
        ),
        ("def inputs(random:\n    pass", {}, "op.py:1: "),
        (b"\xff", {}, "op.py:"),
        ("\0", {}, "op.py"),
    ],
)
def test_a_mistake_has_a_message_with_its_place(
    tmp_path: Path, text: str | bytes, sizes: dict[str, int], message: str
) -> None:
    (one,) = found(tmp_path, text, **sizes)
    assert one.startswith(message)
