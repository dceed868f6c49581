"""Which runs are measured, and which are taken from before, with made-up records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.config.experiment import Measure
from hpcbench.core.run_spec import PlannedRun
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.status.progress import PLANNED, RunProgress
from hpcbench.tuning import measurement_runner
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.measurement_runner import MeasurementRunner
from hpcbench.tuning.measurements import Trial
from tests.tuning.made import case, record


class FakeRuns:
    """Runs that have these attempts from before."""

    def __init__(self, *attempts: dict[str, Any]) -> None:
        self.attempts = attempts

    def next_run(self, case: Case, measure: Measure) -> RunProgress:
        planned: Any = None
        last = self.attempts[-1] if self.attempts else None
        return RunProgress("job-001", 0, planned, PLANNED, record=last, attempts=self.attempts)


class FakeLease:
    def check(self) -> None:
        """It is held."""

    def fileno(self) -> int:
        return 0


def runner_of(*before: dict[str, Any]) -> MeasurementRunner:
    runs: Any = FakeRuns(*before)
    sweep: Any = SimpleNamespace(paths=SimpleNamespace(name="study-1"))
    lease: Any = FakeLease()
    executor: Any = None
    return MeasurementRunner(sweep, lease, executor, Measure(), runs)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch):
    """Let each run be measured with these attempts, of which the last one counts."""

    def measured(*attempts: dict[str, Any]) -> None:
        monkeypatch.setattr(measurement_runner, "run_repetition", lambda *_: (attempts[-1], list(attempts)))

    return measured


@pytest.mark.parametrize("kind", ["setup", "job"])
def test_a_script_that_could_not_go_on_says_nothing_of_its_setting(measured, kind: str) -> None:
    lost = record(status="failed", error={"type": kind, "message": "no such file", "last_lines": []})
    trial = Trial(case(), Stage.SHORT)
    measured(lost)
    with pytest.raises(UserError, match="no such file"):
        runner_of().measure(trial)
    measured(record())
    assert runner_of(lost).measure(trial).record.status == "completed"  # once more


def test_what_was_measured_otherwise_is_not_taken_for_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    short, full = (stage.of(Measure()) for stage in (Stage.SHORT, Stage.FULL))
    run = case().planned_run(1, 0, short.model_dump())
    known = RunProgress("job-001", 0, run, PLANNED)
    monkeypatch.setattr(measurement_runner, "query", lambda _: SimpleNamespace(runs=[known]))
    added: list[PlannedRun] = []
    monkeypatch.setattr(measurement_runner, "add_run", lambda _, job, run: added.append(run))
    sweep: Any = SimpleNamespace(job_names=["job-001"], environment=lambda _: ("pytorch", ""), paths=None)
    assert measurement_runner.Runs(sweep).next_run(case(), short) is known
    assert measurement_runner.Runs(sweep).next_run(case(), full).planned.run == 2
    assert [run.measure for run in added] == [full.model_dump()]


def test_attempts_from_before_an_interruption_count(measured) -> None:
    trial = Trial(case(), Stage.FULL)
    known = runner_of(record(verdict="interference"), record(seconds=11)).measure(trial)
    assert (known.seconds, len(known.attempts), known.is_new) == (21.0, 2, False)
    measured(record(seconds=12))
    cancelled = runner_of(record(seconds=3, status="cancelled")).measure(trial)
    assert (cancelled.seconds, len(cancelled.attempts), cancelled.is_new) == (15.0, 2, True)
