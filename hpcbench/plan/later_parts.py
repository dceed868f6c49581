"""Warn if a run may reach its time limit in what follows its measurement: validation, second training, and profile.

The parts are those of node/worker/later_parts.py. The estimates are upper limits as far as a plan can know them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpcbench.core.frameworks import DYNAMIC
from hpcbench.core.training.trajectory import RUNS, TASKS
from hpcbench.plan.profiled_cases import estimate

if TYPE_CHECKING:
    from hpcbench.config.experiment import Measure
    from hpcbench.config.parameters import Parameters
    from hpcbench.plan.packing import Job, Run

# Of the largest operator or network that is validated, on one core (MOST_FLOPS in node/worker/validation). External
# models have a reference in the framework itself, of more FLOPs.
VALIDATION_S, EXTERNAL_VALIDATION_S = 60.0, 240.0
_SINGLE = "single"
_STEP_MIN = 5  # to which a hint rounds the time limit up


@dataclass(frozen=True)
class LaterParts:
    """The estimated seconds of the parts of a run: its warm-up and measurement, what follows, and power windows."""

    measurement_s: float
    parts: tuple[tuple[str, float], ...]
    power_s: float

    @property
    def total_s(self) -> float:
        """Return the time of the run, without the start of its process."""
        return self.measurement_s + sum(seconds for _, seconds in self.parts) + self.power_s


def later_parts(run: Run, measure: Measure) -> LaterParts:
    """Return the estimated times of a run. A second training has the slowest steps that `measure` has time for."""
    p, parts = run.case.parameters, []
    if p.validate and (p.strategy in (None, _SINGLE) or p.data):
        is_external = p.source is not None and p.source.is_external
        parts.append(("validation", EXTERNAL_VALIDATION_S if is_external else VALIDATION_S))
    if measure.trajectory and run.repetition <= RUNS and _trains_again(p):
        parts.append(("second training", measure.trajectory.steps * measure.max_time_s / measure.min_measurements))
    measurement_s = measure.max_warmup_s + measure.max_time_s
    found = estimate(measure)
    if found:
        parts.append(("profile", found.timing_s - measurement_s))
    return LaterParts(measurement_s, tuple(parts), found.power_s if found else 0.0)


def _trains_again(p: Parameters) -> bool:
    return p.task in TASKS and p.strategy == _SINGLE and p.threads != DYNAMIC


def time_warnings(jobs: Sequence[Job], measure: Measure) -> list[str]:
    """Return a warning if a run may reach its time limit after its measurement, with the times of the worst run."""
    worst = max(
        ((found.total_s - job.resources.limit_s, job.resources.limit_s, found) for job, found in _found(jobs, measure)),
        key=lambda each: each[0],
        default=None,
    )
    if worst is None or worst[0] <= 0:
        return []
    _, limit_s, found = worst
    parts = ", ".join(
        f"{name} {_rounded_up(seconds)} s" for name, seconds in (("measurement", found.measurement_s), *found.parts)
    )
    what = f"a run may take {_rounded_up(found.total_s - found.power_s)} s ({parts})"
    what += f", and {_rounded_up(found.power_s)} s more on nodes with a power sensor" if found.power_s else ""
    hours, minutes = divmod(_STEP_MIN * math.ceil(_rounded_up(found.total_s) / (60 * _STEP_MIN)), 60)
    raised = f"--set slurm.time={hours:02d}:{minutes:02d}:00"
    return [f"{what}, but the time limit per run is {limit_s:g} s; to raise it: {raised}"]


def _rounded_up(seconds: float) -> int:
    return math.ceil(round(seconds, 3))  # 5.000000001 is 5


def _found(jobs: Sequence[Job], measure: Measure) -> list[tuple[Job, LaterParts]]:
    pairs = ((job, later_parts(run, measure)) for job in jobs for run in job.runs)
    return [(job, found) for job, found in pairs if found.parts]
