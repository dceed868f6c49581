"""The conclusions of the step that predicts networks, from the table of predictions and the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.gpu_proof import cli, install, predict
from tools.gpu_proof.bench import Bench
from tools.gpu_proof.steps import FAILED, NOT_RUN, PASSED


def row(case: str = "c1", time_s: str = "0.010", **changes: str) -> dict[str, str]:
    """A row of predictions, as texts."""
    limits = {"time_s_pi_low": "0.008", "time_s_pi_high": "0.012"}
    return {
        **limits,
        "case": case,
        "state": "",
        "time_s": time_s,
        "energy_j": "2",
        "reason": "",
        "missing": "",
        **changes,
    }


def record(case: str = "c1", time_s: float = 0.011, **changes: Any) -> dict[str, Any]:
    """The record of a measured case."""
    parameters = {"model": "vgg16", "batch_size": 16}
    measured = {"times_s": [None, time_s, time_s]}
    base = {"case_id": case, "status": "completed", "error": None, "parameters": parameters, "measurements": measured}
    return {**base, **changes}


def test_predicted_and_measured_times_are_compared() -> None:
    outcome = predict.compared([row(), row(state="960 MHz", time_s="9")], [record()], False)
    assert outcome.status == PASSED
    assert outcome.evidence == [
        "vgg16 16: predicted 10.000 ms (8.000 to 12.000), measured 11.000 ms: -9%",
        "median error 9%; 1 of 1 times are inside their 90 % interval",
    ]


def test_large_errors_are_problems_on_a_gpu_only() -> None:
    far = [record(time_s=0.030)]
    outcome = predict.compared([row()], far, False)
    assert outcome.problems == ["the median error of 67% exceeds 35%"]
    assert "0 of 1 times" in outcome.evidence[-1]
    assert predict.compared([row()], far, True).status == PASSED


def test_cases_without_time_energy_or_result_are_problems() -> None:
    error = {"message": "CUDA error"}
    rows = [row("c1", time_s="", reason="why not"), row("c3", energy_j="", missing="energy not predicted: no")]
    records = [record("c1"), record("c2"), record("c3"), record("c4", status="failed", error=error)]
    assert predict.compared(rows, records, True).problems == [
        "vgg16 16: not predicted: why not",
        "vgg16 16: not predicted: row missing",
        "vgg16 16: energy not predicted: no",
        "vgg16 16: failed: CUDA error",
    ]


def test_without_lightgbm_it_does_not_run(tmp_path: Path) -> None:
    bench = Bench("python", tmp_path, tmp_path / "log.txt", "gpu", frozenset(("pandas", "numpy")))
    outcome = predict.predict(bench, 0.0)
    assert (outcome.status, outcome.problems) == (NOT_RUN, ("not installed: lightgbm",))
    assert predict.compared([], [], True).status != FAILED


def test_predictions_of_an_earlier_call_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "check_machine", lambda device: None)
    monkeypatch.setattr(install, "prepare", lambda folder, wheels: ("python", frozenset()))
    monkeypatch.setattr(install, "describe", lambda python, device: {})
    earlier = tmp_path / predict.TABLE
    earlier.write_text("case,state\n")
    assert cli.main(["predict", "--device", "cpu", "--out", str(tmp_path)]) == 0
    assert "not installed" in (tmp_path / "summary.md").read_text()
    assert not earlier.exists()
