"""Query slurmctld for one job by its ID: the only query whose negative result is about this job."""

from __future__ import annotations

import re
from typing import NamedTuple

from hpcbench.slurm.client import NoAnswerError, Reply, quoted, run
from hpcbench.slurm.job_entry import JobEntry, time_of
from hpcbench.slurm.states import outcome_of

_FIELD = re.compile(r"(?:^| )(JobState|Reason|NodeList|UserId|StartTime|EndTime)=(\S*)")
_UID = re.compile(r"\((\d+)\)\Z")


class Lookup(NamedTuple):
    """The result for one ID: the job, or that slurmctld does not know the ID; `words` quotes command and output."""

    entry: JobEntry | None
    is_unknown: bool
    words: str
    has_timed_out: bool = False


def look_up(job_id: str, cluster: str | None) -> Lookup:
    """Query slurmctld for a job, an array (`7`) or an element of an array (`7_3`). If that fails, `words` says why."""
    command = ["scontrol", "--all", "--oneliner", "show", "job", job_id]
    question = f"`scontrol show job {job_id}`"
    try:
        reply = run(command, cluster)
    except NoAnswerError as error:
        return Lookup(None, False, error.what, has_timed_out=True)
    said = [*reply.errors, *reply.lines]
    words = f"{question} printed: {quoted(said)}" if said else f"{question} printed nothing"
    if reply.status and _is_unknown(reply, job_id):
        return Lookup(None, True, words)
    entry = next(filter(None, map(_entry, reply.lines)), None) if not reply.status else None
    return Lookup(entry, False, words)


def _is_unknown(reply: Reply, job_id: str) -> bool:
    """Return whether scontrol says that there is no such job, and no other error. A site may print a greeting."""
    texts = ("Invalid job id specified", f"Job {job_id} not found")
    says_so = [any(text in line for text in texts) for line in (*reply.errors, *reply.lines)]
    return any(says_so) and all(says_so[: len(reply.errors)])


def _entry(line: str) -> JobEntry | None:
    fields = dict(reversed(_FIELD.findall(line)))  # the first of each counts: the command may contain such text
    if "JobState" not in fields:
        return None
    state, nodes = fields["JobState"], fields.get("NodeList", "")
    uid = _UID.search(fields.get("UserId", ""))
    return JobEntry(
        state,
        fields.get("Reason", ""),
        "" if nodes == "(null)" else nodes,
        uid=int(uid[1]) if uid else None,
        started=time_of(fields.get("StartTime", "")) is not None and nodes not in ("", "(null)"),
        ended_at=time_of(fields.get("EndTime", "")) if outcome_of(state) is not None else None,
    )
