"""Sentences on operators with equal data, from records: whether their results are equal, and over what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from hpcbench.core.validation.result import PASSED, Validation
from hpcbench.report.load.results import results_of
from hpcbench.report.text.validation.bitwise import MAX_NAMED, bitwise_notes

MakeRecord = Callable[..., Record]
GEMM = {"model": None, "task": "operator", "operator": "gemm", "phase": "forward", "sizes": {"m": 4}, "validate": True}


@pytest.fixture
def notes(make_record: MakeRecord) -> Callable[..., list[str]]:
    """The sentences on runs, each given by checksum and what differs from a gemm on one node."""

    def of(*runs: tuple[int | None, dict[str, Any]]) -> list[str]:
        cases: dict[str, int] = {}
        records = []
        for run, (checksum, changes) in enumerate(runs):
            host = changes.pop("host", "n1")
            case = cases.setdefault(str(changes), len(cases))
            facts = {"validation": to_json(Validation(PASSED, checksum=checksum))} if checksum else {}
            records.append(make_record(case, run, parameters={**GEMM, **changes}, facts=facts, host=host))
        return list(bitwise_notes(results_of(records)))

    return of


def test_equal_results_are_counted_with_what_the_runs_differ_in(notes: Any) -> None:
    found = notes(
        (7, {"intra_op_threads": 1}), (7, {"intra_op_threads": 2}), (7, {"intra_op_threads": 2, "host": "n2"})
    )
    equal = "Bitwise equal in all runs: 1 of 1 operator with the same input data"
    assert found == [f"{equal}; the runs differ in intra_op_threads, nodes_used."]


def test_operators_that_differ_are_named_with_what_explains_it(notes: Any) -> None:
    runs = [(7, {"execution": "eager"}), (7, {"execution": "eager", "host": "n2"}), (8, {"execution": "compiled"})]
    relu = {"operator": "relu", "sizes": {}}
    equal, different = notes(*runs, (1, {**relu}), (1, {**relu}))
    assert equal == "Bitwise equal in all runs: 1 of 2 operators with the same input data."
    assert different == (
        "Not bitwise equal: 1 of 2 operators with the same input data. "
        "pytorch gemm forward (m=4): 2 different results in 3 runs; the result depends on execution."
    )


def test_runs_that_differ_without_an_explanation_are_named_too(notes: Any) -> None:
    (note,) = notes((7, {}), (8, {}))
    assert note.endswith("pytorch gemm forward (m=4): 2 different results in 2 runs.")
    (note,) = notes((7, {"intra_op_threads": 1}), (8, {"intra_op_threads": 1}), (7, {"intra_op_threads": 2}))
    assert note.endswith("2 different results in 3 runs; the runs differ in intra_op_threads.")


def test_values_of_one_run_each_explain_nothing(notes: Any) -> None:
    (note,) = notes((7, {"host": "n1"}), (8, {"host": "n2"}), (8, {"host": "n3"}))
    assert note.endswith("pytorch gemm forward (m=4), 2 results in 3 runs, over nodes_used.")


@pytest.mark.parametrize(
    "other",
    [
        {"sizes": {"m": 5}},
        {"phase": "both"},
        {"device": "gpu", "gpus_per_task": 1},
        {"seed": 2},
        {"operator": "bmm"},
        {"framework": "jax"},
    ],
)
def test_only_equal_operators_with_equal_data_are_compared(notes: Any, other: dict[str, Any]) -> None:
    assert notes((7, {}), (8, other)) == []
    assert len(notes((7, {}), (7, {}), (8, other))) == 1


def test_runs_without_a_checksum_are_not_compared(notes: Any) -> None:
    assert notes((7, {}), (None, {})) == []
    assert notes((None, {}), (None, {})) == []


def test_many_differing_operators_are_counted(notes: Any) -> None:
    runs = [(run, {"sizes": {"m": size}}) for size in range(2, MAX_NAMED + 4) for run in (1, 2)]
    (note,) = notes(*runs)
    assert note.count("gemm forward") == MAX_NAMED
    assert note.endswith(". 2 more are not listed.")
