"""An operator in the worker: measured, then validated. NumPy is in place of a framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.core.validation.result import Validation
from hpcbench.node import frameworks
from hpcbench.node.frameworks.adapter import Adapter
from hpcbench.node.frameworks.computation import Computation
from hpcbench.node.frameworks.supported_library import SupportedLibrary
from hpcbench.node.host import hardware
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.worker import worker
from hpcbench.node.worker.validation import references, validate
from hpcbench.node.workload.problem import Problem
from tests.node.worker.validation.numpy_call import NumPyOperator, variant

LINEAR = {"rows": 4, "inputs": 9, "outputs": 6}


class NumPyAdapter(Adapter):
    """NumPy as a framework that can change its number of threads."""

    name = "numpy"
    libraries = (SupportedLibrary("NumPy", np.__version__, "1", "99"),)
    packages = ("numpy",)
    changes_threads = True

    def __init__(self, operator: type[NumPyOperator]) -> None:
        self.operator = operator
        self.counts: list[int | None] = []

    def set_threads(self, intra_op: int | None, inter_op: int | None) -> None:
        self.counts.append(intra_op)

    def threads(self) -> dict[str, Any]:
        return {"intra_op": 1, "inter_op": 1}

    def build(self, problem: Problem) -> Computation:
        return self.computation_of(problem)


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun]) -> Callable[..., dict[str, Any]]:
    """The facts of a worker that measures `linear`, and validates it."""

    def run(operator: type[NumPyOperator] = NumPyOperator, **changes: Any) -> dict[str, Any]:
        adapter = NumPyAdapter(operator)
        monkeypatch.setattr(frameworks, "load", lambda framework: adapter)
        of_case = {"task": "operator", "operator": "linear", "sizes": LINEAR, "phase": "both", "validate": True}
        planned = make_planned(intra_op_threads=1, oversubscribe=True, **{**of_case, **changes})
        return {**worker.run(planned, Ranks(0, 1, host="n1")), "counts": adapter.counts}

    return run


def test_an_operator_is_measured_and_validated(facts: Callable[..., dict[str, Any]]) -> None:
    found = facts()
    assert (found["status"], found.get("error")) == ("completed", None)
    validation = from_json(Validation, found["validation"])
    assert (validation.verdict, list(validation.arrays)) == ("passed", ["output", "x", "weight", "bias"])
    assert len(found["measurements"]["times_s"]) >= 2
    work = found["work"]
    assert (work["flops_per_item"], work["items_per_step"], work["dtype"]) == (4 * 4 * 9 * 6, 1, "float32")
    assert work["input_shapes"] == {"x": [4, 9], "weight": [6, 9], "bias": [6]}


def test_all_measured_steps_run_in_the_context_of_their_operator(facts: Callable[..., dict[str, Any]]) -> None:
    entered: list[str] = []
    calls: list[int] = []

    class InContext(NumPyOperator):
        @contextmanager
        def context(self) -> Iterator[None]:
            entered.append("begin")
            yield
            entered.append("end")

        def call(self) -> Any:
            calls.append(len(entered))
            return super().call()

    assert facts(InContext, validate=False)["status"] == "completed"
    assert entered == ["begin", "end"]
    assert set(calls) == {1}


def test_without_validate_nothing_is_validated(facts: Callable[..., dict[str, Any]]) -> None:
    assert "validation" not in facts(validate=False)


def test_wrong_results_fail_with_the_measurements_and_the_evidence(facts: Callable[..., dict[str, Any]]) -> None:
    found = facts(variant(after=lambda self, results: {name: 1.01 * array for name, array in results.items()}))
    assert found["status"] == "failed"
    assert found["error"]["type"] == "validation"
    assert "times the bound of rounding errors" in found["error"]["message"]
    assert found["validation"]["reason"] == found["error"]["message"]
    assert len(found["measurements"]["times_s"]) >= 2


def test_thread_counts_are_tried_and_restored(facts: Callable[..., dict[str, Any]]) -> None:
    found = facts()
    compared = found["validation"]["repeatability"]["thread_counts"]
    assert compared == sorted({1, 2, len(found["affinity"])})
    assert found["counts"] == [1, *(count for each in compared for count in (each, 1))]


def test_the_memory_of_the_validation_does_not_count(
    facts: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    peaks = [100]
    monkeypatch.setattr(hardware, "peak_resident_bytes", lambda: peaks[-1])
    monkeypatch.setattr(validate, "references_of", lambda *given: peaks.append(900) or references.references_of(*given))
    assert facts()["peak_memory_bytes"] == 100
    assert peaks == [100, 900]


def test_too_little_memory_for_the_validation_does_not_fail_the_case(
    facts: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*given: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(validate, "references_of", exhausted)
    found = facts()
    assert found["status"] == "completed"
    verdict = {"verdict": "not validated", "reason": "the validation ran out of memory"}
    assert verdict.items() <= found["validation"].items()
