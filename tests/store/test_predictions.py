"""The predictions of a sweep on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.store.predictions import (
    SCHEMA,
    CasePrediction,
    Estimate,
    PredictedDevice,
    SweepPredictions,
    read_predictions,
    to_text,
)
from hpcbench.store.workspace import SweepPaths, Workspace

CASES = [
    CasePrediction("c1", "batch_size=1", "l4", Estimate(0.1, 0.05, 0.2), memory_bytes=Estimate(3.0, 2.0, 4.0)),
    CasePrediction("c2", "batch_size=2", reason="it is odd"),
]
FOUND = SweepPredictions(
    SCHEMA,
    "2026-11-30T00:00:00+00:00",
    "0.1.0",
    "Models without measurements",
    None,
    None,
    [PredictedDevice("l4", "gpu", ["l4", "NVIDIA L4"], "a data sheet")],
    CASES,
)


@pytest.fixture
def paths(tmp_path: Path) -> SweepPaths:
    found = Workspace(tmp_path).paths("one")
    found.jobs.mkdir(parents=True)
    return found


def read(paths: SweepPaths, text: str) -> tuple[SweepPredictions | None, list[str]]:
    paths.predictions.write_text(text)
    told: list[str] = []
    return read_predictions(paths, told.append), told


def test_what_was_written_is_read(paths: SweepPaths) -> None:
    found, told = read(paths, to_text(FOUND))
    assert (found, told) == (FOUND, [])
    assert found is not None
    assert [each.case for each in found.predicted] == ["c1"]


def test_a_sweep_without_predictions_has_none(paths: SweepPaths) -> None:
    assert read_predictions(paths, pytest.fail) is None


def changed(**values: Any) -> str:
    return json.dumps({**json.loads(to_text(FOUND)), **values})


def case(**values: Any) -> list[dict[str, Any]]:
    return [{"case": "c1", "label": "", **values}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", ""),
        ("[]", "its schema is not 1"),
        (changed(schema=2), "its schema is not 1"),
        (changed(model=3), "model is a number"),
        (changed(cases=case(time_s={"value": "fast", "low": 1, "high": 2})), "time_s.value is a string"),
        (changed(cases=case(time_s={"value": 3, "low": 1, "high": 2})), "an interval of the case c1 is not valid"),
        (changed(cases=case(time_s={"value": -1, "low": -2, "high": 2})), "an interval of the case c1 is not valid"),
        (changed(cases=case(power_w={"value": 1, "low": 1, "high": 10**400})), "an interval of the case c1"),
    ],
)
def test_a_damaged_file_is_left_out_with_a_message(paths: SweepPaths, text: str, reason: str) -> None:
    found, told = read(paths, text)
    assert found is None
    assert len(told) == 1
    assert str(paths.predictions) in told[0]
    assert reason in told[0]
