"""The state of a sweep as JSON-compatible dicts, for programs."""

from __future__ import annotations

import datetime
from typing import Any

from hpcbench.report.terminal import status_summary
from hpcbench.slurm import reasons
from hpcbench.status.progress import Progress, RunProgress


def summary_as_json(progress: Progress, now: datetime.datetime) -> dict[str, Any]:
    """Return the state of a sweep at `now`, without its runs."""
    end = status_summary.expected_end(progress, now)
    return {
        "sweep": progress.sweep.paths.name,
        "site": progress.sweep.description["site"]["name"],
        "at": now.isoformat(timespec="seconds"),
        "cases": progress.case_counts(),
        "states": progress.counts(),
        "axes": {
            name: [{"value": value.value, "states": dict(value.states)} for value in values]
            for name, values in status_summary.by_axis(progress).items()
        },
        "running_on": status_summary.running_by_node(progress.runs),
        "tried_again_after": status_summary.tried_again(progress.runs),
        "expected_end": end.isoformat(timespec="seconds") if end else None,
        "follow_on_jobs": list(progress.follow_on),
        "pending_reasons": [
            {"reason": reason, "hint": reasons.hint(reason) or None, "runs": count}
            for reason, count in status_summary.waiting(progress.runs).items()
        ],
        "failures": [_failure(progress, run) for run in status_summary.failures(progress.runs)],
    }


def as_json(progress: Progress, now: datetime.datetime) -> dict[str, Any]:
    """Return the state of a sweep at `now` with all runs."""
    return {**summary_as_json(progress, now), "runs": [run_as_json(run) for run in progress.runs]}


def run_as_json(run: RunProgress) -> dict[str, Any]:
    """Return the state of one run: job, element, case, state, Slurm id, nodes and reason."""
    return {
        "job": run.job,
        "element": run.element,
        "case": run.planned.case_id,
        "run": run.planned.run,
        "state": run.state,
        "slurm_id": f"{run.slurm_id}_{run.index}" if run.slurm_id else None,
        "nodes": run.nodes or None,
        "reason": run.reason or None,
    }


def _failure(progress: Progress, run: RunProgress) -> dict[str, Any]:
    return {
        "job": run.job,
        "element": run.element,
        "case": run.planned.case_id,
        "run": run.planned.run,
        "axes": {name: status_summary.value_of(run.planned, name) for name in progress.sweep.description["axes"]},
        "status": run.state,
        "message": run.reason or None,
        "log": status_summary.log_of(progress.sweep, run),
        "ended_at": run.record.ended_at if run.record else None,
    }
