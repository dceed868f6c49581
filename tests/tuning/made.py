"""Cases and records of a made-up search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.record import Record
from hpcbench.plan.case import Case, case_id
from hpcbench.tuning.measurements import Measurement, Steps, Trial
from tests.fixtures.records import a_record

Result = TypeVar("Result")


def case(**parameters: Any) -> Case:
    checked = Parameters.model_validate({"framework": "pytorch", "model": "lstm", "cpus_per_task": 4, **parameters})
    return Case(case_id(checked, {}), 0, checked, {}, SlurmOptions())


def record(time_s: float | None = 0.5, seconds: int = 10, verdict: str = "clean", **changes: Any) -> Record:
    """A run of so many seconds with this step time; without one, it has failed."""
    made = {
        "status": "completed" if time_s else "timeout",
        "interference": {"verdict": verdict},
        "measurements": {"times_s": [time_s]},
        "work": {"items_per_step": 1},
        "started_at": "2026-11-01T00:00:00+00:00",
        "ended_at": f"2026-11-01T00:00:{seconds:02d}+00:00",
    }
    return a_record(**{**made, **changes})


def measured(trial: Trial, *attempts: Record) -> Measurement:
    return Measurement(trial, attempts[-1], attempts)


def run(steps: Steps[Result], measure: Callable[[Trial], Record | Sequence[Record]]) -> Result:
    """Run the steps of a search with a function that makes the record, or the attempts, of each trial."""
    try:
        trial = next(steps)
        while True:
            records = measure(trial)
            trial = steps.send(measured(trial, *([records] if isinstance(records, Record) else records)))
    except StopIteration as ended:
        result: Result = ended.value
        return result
