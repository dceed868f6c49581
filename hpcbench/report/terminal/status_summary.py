"""A summary of the progress of a sweep: counts by axis, running nodes, pending reasons, failures, expected end."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcbench.config.workload.nested import keys_in, shown_value
from hpcbench.core import status
from hpcbench.slurm import node_list, states
from hpcbench.status import eta
from hpcbench.status.progress import PLANNED, UNKNOWN, Progress, RunProgress
from hpcbench.store.records import has_interference, has_log, span_s

if TYPE_CHECKING:
    from hpcbench.core.run_spec import PlannedRun
    from hpcbench.store.sweep import Sweep


@dataclass
class AxisValue:
    """One value of an axis, and its runs by state."""

    value: Any
    states: Counter[str] = field(default_factory=Counter)

    @property
    def done(self) -> bool:
        """Return whether all runs have completed."""
        return self.states.keys() <= {status.COMPLETED}


def by_axis(progress: Progress) -> dict[str, list[AxisValue]]:
    """Return the values of each axis with several values, in the order of the experiment."""
    axes: dict[str, dict[str, AxisValue]] = {name: {} for name in progress.sweep.description["axes"]}
    for run in sorted(progress.runs, key=lambda run: run.planned.case_index):
        for name, values in axes.items():
            value = value_of(run.planned, name, *keys_in(axes, name))
            values.setdefault(repr(value), AxisValue(value)).states[run.state] += 1
    return {name: list(values.values()) for name, values in axes.items() if len(values) > 1}


def value_of(planned: PlannedRun, axis: str, *left_out: str) -> Any:
    """Return the value of an axis, a parameter; None if the case does not have it.

    The keys `left_out` of a mapping are not included.
    """
    if axis in planned.user_parameters:
        return planned.user_parameters[axis]
    return shown_value(planned.parameters, axis, *left_out)


def named(sweep: Sweep, planned: PlannedRun) -> str:
    """Return the name of a run: `nodes=2 batch_size=64 run 1`, or `train run 1` of a single case."""
    names = sweep.description["axes"]
    values = {name: value_of(planned, name, *keys_in(names, name)) for name in names}
    axes = " ".join(f"{name}={value}" for name, value in values.items() if value not in (None, "{}"))
    is_lone = sweep.description.get("cases") == 1
    name = sweep.description["experiment"]["name"] if is_lone else planned.case_id
    return f"{axes or name} run {planned.run}"


def running_by_node(runs: Iterable[RunProgress]) -> dict[str, int]:
    """Return the number of running runs by node; a run on several nodes counts on each."""
    return Counter(node for run in runs if run.state == states.RUNNING for node in node_list.expand(run.nodes))


def running_on(runs: Iterable[RunProgress]) -> dict[int, str]:
    """Return the nodes by number of active runs: `{2: "n[1-3]", 1: "n4"}`."""
    by_count: dict[int, list[str]] = {}
    for node, count in running_by_node(runs).items():
        by_count.setdefault(count, []).append(node)
    return {count: node_list.compact(by_count[count]) for count in sorted(by_count, reverse=True)}


def waiting(runs: Iterable[RunProgress]) -> dict[str, int]:
    """Return the number of waiting runs by the reason of their jobs, most frequent first."""
    reasons = Counter(_why(run) for run in runs if run.record is None and run.reason)
    return dict(reasons.most_common())


def not_starting(runs: Iterable[RunProgress]) -> dict[str, int]:
    """Return the number of runs that Slurm does not start, or sbatch refused, by reason, most frequent first."""
    return waiting(run for run in runs if run.waits_for_ever or run.is_refused)


def _why(run: RunProgress) -> str:
    """Return the reason as a clause that can follow `because`."""
    return f"its state is unknown {run.reason}" if run.state == UNKNOWN else run.reason


def tried_again(runs: Iterable[RunProgress]) -> dict[str, int]:
    """Return the number of retried attempts by how they ended: `{"node_failure": 2, "interference": 1}`.

    All but the last attempt of a run were retried, also if the run counts by an earlier one.
    """
    earlier = Counter(
        "interference" if has_interference(attempt) else attempt.status
        for run in runs
        if run.record is not None
        for attempt in run.attempts[:-1]
    )
    return dict(earlier.most_common())


def failures(runs: Iterable[RunProgress]) -> list[RunProgress]:
    """Return the failed runs, latest last, without skipped and unsupported ones."""
    none = (status.COMPLETED, status.SKIPPED, status.UNSUPPORTED)
    return sorted((run for run in runs if run.ended and run.state not in none), key=ended_at)


def ended_at(run: RunProgress) -> str:
    """Return the end of a run as ISO 8601; empty if it has not ended."""
    return run.record.ended_at if run.record else ""


def attempt_of(run: RunProgress) -> tuple[str, int, str]:
    """Return job, element and end, which identify an ended attempt of a run."""
    return run.job, run.element, ended_at(run)


def log_of(sweep: Sweep, run: RunProgress) -> str | None:
    """Return the path of the log of an ended run, relative to the workspace; None if it printed nothing."""
    log = log_path(sweep, run)
    return from_workspace(sweep, log) if log else None


def log_path(sweep: Sweep, run: RunProgress) -> Path | None:
    """Return the path of the log of an ended run; None if it printed nothing."""
    if run.record is None or not has_log(run.record):
        return None
    index = run.index if run.slurm_id and run.index is not None else run.element
    return sweep.paths.log(run.record.batch, index, run.slurm_id)


def from_workspace(sweep: Sweep, path: Path) -> str:
    """Return a path relative to the workspace, or to the folder of an unpacked archive."""
    return str(path.relative_to(sweep.paths.jobs.parents[1]))


def expected_end(progress: Progress, now: datetime.datetime) -> datetime.datetime | None:
    """Return the expected end of all queued and running runs at the present rate.

    Return None if it is unknown, as for a search, which plans each measurement after the previous one.
    """
    if progress.sweep.tuning is not None:
        return None
    counted = progress.counts()
    running = counted.get(states.RUNNING, 0)
    if not running:
        return None
    going = counted.get(states.PENDING, 0) + running
    left = going + (counted.get(PLANNED, 0) if progress.sweep.scheduler == "local" else 0)
    spans = [span_s(run.record) for run in progress.runs if run.record is not None and run.record.attempt is not None]
    end = eta.expected_end(spans, running, left, now.timestamp())
    return datetime.datetime.fromtimestamp(end).astimezone() if end is not None else None
