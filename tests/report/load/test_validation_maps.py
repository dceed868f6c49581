"""The error maps of a sweep: of the worst run of each case, the largest ratio to the bound first."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from hpcbench.core.validation.result import ArrayError, HeatMap, Validation
from hpcbench.report.load.results import results_of
from hpcbench.report.load.validation_maps import validation_maps

MAP = HeatMap("output", [2, 2], [[0.0, 1.0], [2.0, 3.0]])
MakeRecord = Callable[..., Record]


def validated(ratio: float | None, **changes: Any) -> dict[str, Any]:
    error = ArrayError("output", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ratio, [0, 0])
    verdict = "passed" if ratio is not None and ratio <= 1 else "failed"
    return to_json(Validation(**{"verdict": verdict, "worst": error, "error_map": MAP, **changes}))


@pytest.fixture
def maps_of(make_record: MakeRecord) -> Callable[..., list[Any]]:
    """The maps of validations, given by case and run."""

    def of(*cases: list[dict[str, Any] | None]) -> list[Any]:
        records = [
            make_record(case, run, parameters={"batch_size": 2**case}, facts={"validation": validation})
            for case, runs in enumerate(cases, 1)
            for run, validation in enumerate(runs)
        ]
        runs = [SimpleNamespace(record=record, planned=SimpleNamespace(case_id=record.case_id)) for record in records]
        unfinished = SimpleNamespace(record=None, planned=runs[0].planned)
        sweep = SimpleNamespace(description={"name": records[0].sweep})
        progress: Any = SimpleNamespace(sweep=sweep, runs=[*runs, unfinished])
        return validation_maps([progress], results_of(records))

    return of


def test_the_worst_run_of_each_case_is_shown_and_the_worst_case_first(maps_of: Any) -> None:
    found = maps_of([validated(0.1), validated(0.5)], [None], [validated(0.7), validated(0.2)])
    assert [(each.case, each.ratio) for each in found] == [("batch_size=8", 0.7), ("batch_size=2", 0.5)]
    assert {each.verdict for each in found} == {"passed"}
    assert found[0].error == MAP


def test_an_error_that_is_not_finite_is_the_largest(maps_of: Any) -> None:
    found = maps_of([validated(0.5)], [validated(None, reason="the output is nan", variance_map=MAP), validated(3.0)])
    assert [each.ratio for each in found] == [float("inf"), 0.5]
    assert (found[0].reason, found[0].variance) == ("the output is nan", MAP)


@pytest.mark.parametrize(
    "damaged",
    [
        HeatMap("output", [2], [[0.0, 1.0]]),
        HeatMap("output", [2, 2], []),
        HeatMap("output", [0, 0], [[]]),
        HeatMap("output", [2, 2], [[0.0, 1.0], [2.0]]),
        HeatMap("output", [1, -2], [[0.0, 1.0]]),
    ],
)
def test_a_damaged_map_is_left_out(maps_of: Any, damaged: HeatMap) -> None:
    assert maps_of([validated(0.5, error_map=damaged)]) == []
    (found,) = maps_of([validated(0.5, variance_map=damaged)])
    assert found.variance is None
