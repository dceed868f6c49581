"""What a bench counts, with made-up records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.config.experiment import Measure
from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.errors import UserError
from hpcbench.plan.case import Case, case_id
from hpcbench.status.progress import PLANNED, RunProgress
from hpcbench.store.sweep import planned
from hpcbench.tuning import measurement_runner
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurement_runner import Bench
from hpcbench.tuning.objective import Objective
from tests.fixtures.records import a_record


class FakeRuns:
    """Repetitions that have these attempts from before."""

    def __init__(self, *attempts: Record) -> None:
        self.attempts = attempts

    def another(self, case: Case, measure: Measure) -> RunProgress:
        planned: Any = None
        last = self.attempts[-1] if self.attempts else None
        return RunProgress("job-001", 0, planned, PLANNED, record=last, attempts=self.attempts)


class FakeLease:
    def check(self) -> None:
        """It is held."""

    def fileno(self) -> int:
        return 0


def record(seconds: int, status: str = "completed", verdict: str = "clean", **changes: Any) -> Record:
    ended_at = f"2026-11-01T00:00:{seconds:02d}+00:00"
    measured = {"interference": {"verdict": verdict}, "samples": {"times_s": [0.5]}}
    return a_record(status=status, started_at="2026-11-01T00:00:00+00:00", ended_at=ended_at, **measured, **changes)


def case() -> Case:
    parameters = Parameters.model_validate({"framework": "pytorch", "model": "lstm"})
    return Case(case_id(parameters, {}), 0, parameters, {}, SlurmOptions())


def bench_of(*before: dict[str, Any]) -> Bench:
    runs: Any = FakeRuns(*before)
    sweep: Any = SimpleNamespace(paths=SimpleNamespace(name="study-1"))
    lease: Any = FakeLease()
    return Bench(sweep, lease, Measure(), Objective(TIME), lambda *_: None, runs)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch):
    """Let each repetition be measured with these attempts, of which the last one counts."""

    def measured(*attempts: Record) -> None:
        monkeypatch.setattr(measurement_runner, "run_repetition", lambda *_: (attempts[-1], list(attempts)))

    return measured


@pytest.mark.parametrize("kind", ["setup", "job"])
def test_a_script_that_could_not_go_on_says_nothing_of_its_setting(measured, kind: str) -> None:
    lost = record(1, "failed", error={"type": kind, "message": "no such file"})
    measured(lost)
    with pytest.raises(UserError, match="no such file"):
        bench_of().record(case(), Stage.SHORT)
    measured(record(5))
    assert bench_of(lost).record(case(), Stage.SHORT).status == "completed"  # once more


def test_what_was_measured_otherwise_is_not_taken_for_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    short, full = (stage.of(Measure()) for stage in (Stage.SHORT, Stage.FULL))
    run = planned(case(), 1, 0, short.model_dump())
    known = RunProgress("job-001", 0, run, PLANNED)
    monkeypatch.setattr(measurement_runner, "query", lambda _: SimpleNamespace(runs=[known]))
    added: list[PlannedRun] = []
    monkeypatch.setattr(measurement_runner, "add_run", lambda _, job, run: added.append(run))
    sweep: Any = SimpleNamespace(job_names=["job-001"], environment=lambda _: ("pytorch", ""), paths=None)
    assert measurement_runner.Runs(sweep).another(case(), short) is known
    assert measurement_runner.Runs(sweep).another(case(), full).planned.repetition == 2
    assert [run.measure for run in added] == [full.model_dump()]


def test_what_was_disturbed_and_measured_again_takes_its_time_too(measured) -> None:
    measured(record(10, verdict="disturbed"), record(11))
    found = bench_of()
    found.record(case(), Stage.SHORT)
    assert (found.seconds, found.measurements, found.disturbed) == (21.0, 2, 1)
    found.record(case(), Stage.FULL)
    assert (found.seconds, found.measurements, found.disturbed) == (42.0, 4, 2)
    assert found.costs(case()) == [0.5]
    assert found.expected_s([case(), case()]) == 42.0


def test_the_environment_is_that_of_a_repetition_that_completed(measured) -> None:
    found = bench_of()
    assert found.environment(case()) == {}
    measured(record(9, status="failed", environment={"OMP_NUM_THREADS": "1"}))
    found.record(case(), Stage.SHORT)
    assert found.environment(case()) == {}
    measured(record(9, environment={"OMP_NUM_THREADS": "4"}))
    found.record(case(), Stage.SHORT)
    assert found.environment(case()) == {"OMP_NUM_THREADS": "4"}


def test_attempts_from_before_an_interruption_count(measured) -> None:
    known = bench_of(record(10, verdict="disturbed"), record(11))
    known.record(case(), Stage.FULL)
    assert (known.seconds, known.measurements) == (21.0, 2)
    measured(record(12))
    cancelled = bench_of(record(3, status="cancelled"))
    cancelled.record(case(), Stage.FULL)
    assert (cancelled.seconds, cancelled.measurements) == (15.0, 2)
