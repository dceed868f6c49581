"""The conclusions of the steps on operators, from records and from the table of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.gpu_proof import operators
from tools.gpu_proof.bench import Bench
from tools.gpu_proof.cli import CLOCKS, STEPS, default_steps
from tools.gpu_proof.operators import UNCHANGED
from tools.gpu_proof.steps import FAILED, NOT_RUN, PARTLY, PASSED

WRONG = {"type": "validation", "message": "the error of the output is 300 times the bound"}


def validated(verdict: str = "passed", **changes: Any) -> dict[str, Any]:
    """The record of an operator that was validated."""
    found = {"verdict": verdict, "reason": None, "worst": {"bound_ratio": 0.25}}
    parameters = {"operator": "gemm", "phase": "forward"}
    base = {"status": "completed", "error": None, "warnings": [], "parameters": parameters, "validation": found}
    return {**base, **changes}


def row(kind: str = "gemm", **changes: str) -> dict[str, str]:
    """A row of the table of operators, as texts."""
    names = ("reason", "power_w", "energy_per_call_j", "power_reason", "requested_clock_mhz", "sm_clock_mhz")
    empty = dict.fromkeys((*names, "requested_power_limit_w", "clock_method", "stream_s"), "")
    return {**empty, "kind": kind, "operator": f"aten.{kind}", "device": "gpu", "hot_s": "0.002", **changes}


def test_operators_must_be_validated() -> None:
    outcome = operators.of_validations([validated()], 1, "")
    assert (outcome.status, outcome.evidence) == (PASSED, ["gemm forward: error 0.25 of the bound"])
    assert operators.of_validations([validated("not validated")], 1, "").status == FAILED
    outcome = operators.of_validations([validated(None, status="failed", error=WRONG, validation=None)], 1, "")
    assert outcome.problems == [f"gemm forward: failed: None: {WRONG['message']}"]
    assert operators.of_validations([validated()], 2, "").status == PARTLY
    assert operators.of_validations([], 2, "last line").problems == ["no record: last line"]


def test_tf32_that_the_validation_does_not_find_fails() -> None:
    found = validated("failed", status="failed", error=WRONG)
    assert operators.of_faults([found, found], 2, "").status == PASSED
    outcome = operators.of_faults([found, validated()], 2, "")
    assert outcome.problems == ["gemm forward: TF32 was not found: completed: None"]
    crashed = validated(status="failed", error={"type": "RuntimeError", "message": "CUDA error"})
    assert operators.of_faults([crashed], 1, "").status == FAILED


def test_a_profile_on_a_gpu_must_have_power() -> None:
    whole, measured = row("network", stream_s="0.004"), row(power_w="400.0", energy_per_call_j="0.8")
    outcome = operators.of_rows(validated(), [whole, measured, row(power_reason="too short")], False)
    assert outcome.status == PASSED
    assert outcome.evidence == [
        "2 operators, a step of 4.000 ms",
        "aten.gemm: 400.0 W, 0.8 J per call",
        "no power: too short",
    ]
    assert operators.of_rows(validated(), [whole, row()], False).problems == ["no operator has power"]
    assert operators.of_rows(validated(), [whole, row()], True).status == PASSED, "a rehearsal on CPUs"
    assert operators.of_rows(validated(), [whole, row(hot_s="")], True).problems == ["aten.gemm: no time"]
    on_cpu = operators.of_rows(validated(), [whole, {**measured, "device": "cpu"}], False)
    assert on_cpu.problems == ["aten.gemm is on the cpu"]
    assert operators.of_rows(validated(warnings=["profile: none"]), [], True).problems == [
        "completed, without a profile: profile: none"
    ]


def test_clock_states_are_counted_and_a_node_that_refuses_is_not_run() -> None:
    states = [row("network", requested_clock_mhz=clock, clock_method="locked clocks") for clock in ("900", "1800")]
    outcome = operators.of_clocks(validated(), [row("network"), *states])
    assert (outcome.status, len(outcome.evidence)) == (PASSED, operators.CLOCKS)
    assert operators.of_clocks(validated(), states[:1]).problems == ["1 clock states were profiled, not 2"]
    outcome = operators.of_clocks(validated(warnings=[f"profile: {UNCHANGED}; no rights"]), [])
    assert (outcome.status, outcome.problems) == (NOT_RUN, (f"profile: {UNCHANGED}; no rights",))


def test_clocks_stay_as_they_are_without_the_option(tmp_path: Path) -> None:
    assert CLOCKS not in default_steps(False)
    assert default_steps(True) == [step.name for step in STEPS]
    (step,) = (step for step in STEPS if step.name == CLOCKS)
    bench = Bench("/nonexistent", tmp_path, tmp_path / "log.txt", "gpu", frozenset({"pandas", "numpy"}))
    outcome = step.run(bench, 0.0)
    assert outcome.status == NOT_RUN
    assert outcome.problems == ("changes the clock of the GPU: requires --change-clocks",)
    assert list(tmp_path.iterdir()) == []


def test_the_warning_is_that_of_hpcbench() -> None:
    source = Path(operators.__file__).parents[2] / "hpcbench" / "node" / "worker" / "clock_states.py"
    assert UNCHANGED in source.read_text()
