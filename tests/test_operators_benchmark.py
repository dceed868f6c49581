"""The rows of `make bench-operators`: what is outside the limits is marked, and ends the benchmark with 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: the rows of `make bench-operators`")

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # as for a script of that folder
import operators  # noqa: E402 - they need torch


def test_a_median_outside_the_limits_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert operators.row("inference: mlp", [0.5, 0.95, 0.96, 0.97, 2.0], operators.INFERENCE)
    assert not operators.row("inference: lstm", [0.5, 0.89, 1.0], operators.INFERENCE)
    assert not operators.row("alone: relu", [1.03], operators.ALONE)
    assert operators.row("training: mlp", [1.3])  # without limits
    good, bad, alone, free = capsys.readouterr().out.splitlines()
    assert "0.960 x" in good
    assert good.endswith("goal: 0.90 to 1.10")
    assert bad.endswith("goal: 0.90 to 1.10   MISSED")
    assert alone.endswith("goal: 0.98 to 1.02   MISSED")
    assert "goal" not in free


@pytest.mark.parametrize(("ratio", "status"), [(1.0, 0), (0.5, 1)])
def test_the_exit_status(monkeypatch: pytest.MonkeyPatch, ratio: float, status: int) -> None:
    monkeypatch.setattr(operators, "sums", lambda case: [ratio])
    monkeypatch.setattr(operators, "alone", lambda calls, clock: [1.0])
    monkeypatch.setattr(operators.hand_written, "compared", lambda: iter([True]))
    with pytest.raises(SystemExit) as ended:
        operators.main()
    assert ended.value.code == status
