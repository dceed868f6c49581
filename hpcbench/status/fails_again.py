"""Failed runs that another attempt would not change, and what to change instead."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.slurm import reasons
from hpcbench.status.progress import UNKNOWN, Progress, RunProgress
from hpcbench.util.causes import cause
from hpcbench.util.text import plural

_DEPENDS_ON_RUN = (status.FAILED, status.OUT_OF_MEMORY, status.TIMEOUT)
# What to change, by the status or the type of the error. Errors of these types do not depend on the attempt.
_BY_TYPE = {
    "setup": "correct the environment, or `setup` in the site file",
    "metric": "correct `metrics` or `expect` in the experiment",
    "data": "correct the data file",
    status.PARAMETERS: "correct `model` or `model_options` in the experiment",
    **dict.fromkeys(("ImportError", "ModuleNotFoundError"), "install the missing package in the environment"),
    **dict.fromkeys(("SyntaxError", "NameError"), "correct the program"),
}
_BY_STATUS = {
    status.OUT_OF_MEMORY: "request more memory, or use smaller cases",
    status.TIMEOUT: "increase the time limit",
}
_OTHER = "correct the reported error"


def failing_again(progress: Progress) -> list[RunProgress]:
    """Return the runs that `resume` would start although they would fail again.

    Either their error does not depend on the attempt, or all of at least two attempts of the case failed for the same
    cause, or Slurm does not grant their request: sbatch refuses the job, or the job never starts.
    """
    cases: dict[str, list[Record]] = {}
    for run in progress.runs:
        cases.setdefault(run.planned.case_id, []).extend(run.attempts or ([run.record] if run.record else []))
    return [
        run
        for run in progress.to_do()
        if run.is_refused or (run.record and _fails_again(run.record, cases[run.planned.case_id]))
    ]


def waiting_in_vain(progress: Progress) -> list[RunProgress]:
    """Return the runs in the queue whose request Slurm will not grant: `resume` leaves them there."""
    return [run for run in progress.runs if run.waits_for_ever and reasons.requires_new_sweep(run.reason)]


def _fails_again(record: Record, attempts: list[Record]) -> bool:
    if record.status == status.NEVER_STARTED:
        return reasons.requires_new_sweep(record.message)
    if record.status not in _DEPENDS_ON_RUN:
        return False
    if record.error_type in _BY_TYPE:
        return True
    return len(attempts) > 1 and len({_kind(attempt) for attempt in attempts}) == 1


def _kind(record: Record) -> tuple[str, str]:
    return record.status, cause(record.error_message or "", [node.hostname for node in record.nodes])


def what_to_change(runs: Iterable[RunProgress]) -> str:
    """Return what to change, for each kind of failure, before a new sweep of runs that would fail again."""
    advice = [_advice(run) for run in runs]
    return f"{'; '.join(dict.fromkeys(advice))}; then start a new sweep"


def _advice(run: RunProgress) -> str:
    record = run.record
    if run.is_refused or record is None:
        return "correct the experiment, the site file or the SBATCH_ variables"
    if record.status == status.NEVER_STARTED:
        return reasons.hint(record.message).removesuffix(reasons.NEW_SWEEP)
    return _BY_TYPE.get(record.error_type or "") or _BY_STATUS.get(record.status, _OTHER)


def how_to_continue(progress: Progress) -> str:
    """Return the command that runs the incomplete runs, and what to change for those that would fail again.

    The text also has the number of runs in an unknown state. It is empty if nothing is left to do.
    """
    again = failing_again(progress)
    # `resume` submits nothing after a job that sbatch refuses.
    to_do = 0 if any(run.is_refused for run in again) else len(progress.to_do()) - len(again)
    command = f"to resume {plural(to_do, 'run')}: hpcbench resume {progress.sweep.paths.name}" if to_do else ""
    change = f"{plural(len(again), 'run')} would fail again: {what_to_change(again)}" if again else ""
    unknown = sum(run.state == UNKNOWN for run in progress.runs)
    forced = f"not run again without --force: {plural(unknown, 'run')} in an unknown state" if unknown else ""
    return "; ".join(filter(None, (command, change, forced)))
