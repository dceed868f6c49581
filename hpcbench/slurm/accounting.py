"""The jobs of a sweep in Slurm's accounting: array tasks that have left the queue, with one call of sacct."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hpcbench.core import ranges, status
from hpcbench.errors import UserError
from hpcbench.slurm import states
from hpcbench.slurm.client import NoAnswerError, failure, quoted, run
from hpcbench.slurm.job_entry import Element, JobEntry, time_of

OVERTIME_S = 600  # allowed beyond the time limit of a job: about KillWait and OverTimeLimit, slurm.conf(5)
NO_NODES = "None assigned"
_DISABLED = ("accounting storage is disabled", "not running a supported accounting_storage plugin")
_FIELDS = "JobID,State,ExitCode,ElapsedRaw,TimelimitRaw,UID,Start,End,Reason,NodeList"


def sacct(arguments: list[str], cluster: str | None) -> list[list[str]]:
    """Return the fields of each line that sacct prints, or none if the cluster has no accounting.

    Lines with another number of fields are left out: a site may print a greeting. Raise NoAnswerError if sacct fails
    for another reason.
    """
    count = next(word for word in arguments if word.startswith("--format=")).count(",") + 1
    try:
        reply = run(["sacct", "--noheader", "--parsable2", *arguments], cluster)
    except NoAnswerError:
        raise
    except UserError as error:  # a cluster without accounting need not have the command
        if error.what == "sacct not found":
            return []
        raise
    if any(text in quoted(reply.errors) for text in _DISABLED):
        return []
    if reply.status:
        raise failure("sacct", reply)
    return [row for row in (line.split("|") for line in reply.lines) if len(row) == count]


def accounted(elements: Collection[Element], cluster: str | None) -> dict[Element, JobEntry]:
    """Return the state of elements in the accounting, with one call of sacct. Raise NoAnswerError if sacct fails."""
    found: dict[Element, JobEntry] = {}
    if not elements:
        return found
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    for job_id, state, exit_code, elapsed_s, limit_minutes, uid, start, end, reason, nodes in sacct(
        ["--allocations", f"--jobs={jobs}", f"--format={_FIELDS}"], cluster
    ):
        entry = JobEntry(
            state,
            reason,
            "" if nodes == NO_NODES else nodes,
            exit_code,
            uid=int(uid) if uid.isdecimal() else None,
            started=time_of(start) is not None or nodes not in ("", NO_NODES),
            ended_at=time_of(end),
            overdue=_is_overdue(elapsed_s, limit_minutes),
        )
        for element in _elements(job_id, entry, elements):
            if "_" in job_id or element not in found:  # a line of its own counts more than that of its array
                found[element] = entry
    return found


def find_in_accounting(name: str, uid: int, cluster: str | None) -> str | None:
    """Return the ID of the latest array with this unique job name, or None. Raise NoAnswerError if sacct fails.

    The jobs of all users are queried, because sacct fails for a UID that has no name.
    """
    chosen = ["--allocations", "--allusers", "--name", name, "--starttime=now-30days", "--format=JobID,UID"]
    found = [job_id.partition("_")[0] for job_id, owner in sacct(chosen, cluster) if owner == str(uid)]
    return next((array_id for array_id in found if array_id.isdecimal()), None)


def _elements(job_id: str, entry: JobEntry, elements: Collection[Element]) -> Iterable[Element]:
    """Return the elements that `7_3` or `7_[8-99%4]` stands for, or `7` for an array that was cancelled as a whole.

    Slurm 20.11 and 22.05 also print `7` for one element whose start is not in the database yet. As the start of an
    array that was cancelled while it was pending, they print its end.
    """
    array_id, underscore, indices = job_id.partition("_")
    if not underscore:
        is_whole = not entry.nodes and states.outcome_of(entry.state) == status.CANCELLED
        return [element for element in elements if element[0] == array_id] if is_whole else []
    try:
        return [(array_id, index) for index in ranges.expand(indices.strip("[]").partition("%")[0])]
    except ValueError:  # a long list that Slurm has cut off
        return []


def _is_overdue(elapsed_s: str, limit_minutes: str) -> bool:
    """Return whether a job has exceeded its time limit: the accounting reports a lost job as running forever."""
    known = elapsed_s.isdecimal() and limit_minutes.isdecimal()
    return known and int(elapsed_s) > 60 * int(limit_minutes) + OVERTIME_S
