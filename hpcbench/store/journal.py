"""The journal of a sweep: its calls of sbatch and scancel, one JSON line per event.

An intent is on disk before sbatch is called, and the job id after it. If hpcbench dies at any moment, a later
`resume` finds out which jobs exist before it submits again.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcbench.core import ranges
from hpcbench.core.files import append_lines
from hpcbench.core.redaction import redacted
from hpcbench.core.run_spec import JOB_NAME, Pack
from hpcbench.errors import UserError
from hpcbench.store import packs
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import lines
from hpcbench.util.fast_json import decoded
from hpcbench.util.locking.lease import Lease, lease

NOT_FOUND = "hpcbench died before Slurm accepted it"  # the reason of a rejected batch that sbatch did not refuse
_SLURM_ID = re.compile(r"[0-9]+\Z")


@dataclass(frozen=True)
class Batch:
    """One call of sbatch for one job; an intent while `slurm_id` is None."""

    paths: SweepPaths
    name: str  # JOB.TOKEN: the end of the job's name in Slurm, unique to this batch
    slurm_id: str | None = None
    rejected: bool = False
    uid: int = field(default_factory=os.getuid)
    cluster: str | None = None  # of sbatch, as `scontrol show config` names it
    begun_at: float = field(default_factory=time.time, compare=False)  # when sbatch was called, s since the epoch
    refusal: str = field(default="", compare=False)  # the message with which sbatch refused it
    refused_at: float = field(default=0.0, compare=False)  # s since the epoch

    @property
    def job(self) -> str:
        """Return the name of the job."""
        return self.name.partition(".")[0]

    @property
    def slurm_name(self) -> str:
        """Return the job's name in Slurm, which is unique to the batch."""
        return f"{self.paths.name}.{self.name}"

    @property
    def ours(self) -> bool:
        """Return whether this user submitted the batch: Slurm may hide the jobs of other users."""
        return self.uid == os.getuid()

    @cached_property
    def packs(self) -> tuple[Pack, ...]:
        """Return the elements that each array index runs. Raise UserError if their file cannot be read."""
        return packs.read(self.paths.packs(self.name))


@dataclass
class Journal:
    """The events of one sweep."""

    paths: SweepPaths
    batches: list[Batch] = field(default_factory=list)
    unknown_since: dict[str, dict[int, float]] = field(default_factory=dict)  # s since the epoch, by array ID and index
    ids_cancelled: set[str] = field(default_factory=set)  # jobs for which scancel succeeded

    @classmethod
    def read(cls, paths: SweepPaths) -> Journal:
        """Return the journal of a sweep; it is empty if there is no file. A cut-off last line is ignored.

        Raise UserError if a name is not valid: names become components of paths and options of Slurm commands.
        """
        found: dict[str, Batch] = {}
        unknown_since: dict[str, dict[int, float]] = {}
        ids_cancelled: set[str] = set()
        for event in _events(paths.journal):
            kind, name = event["event"], event.get("batch", "")
            if kind in ("submitting", "submitted", "rejected"):
                _check(paths, name, JOB_NAME)
            if kind == "submitting":
                cluster = event.get("cluster")
                known = cluster if isinstance(cluster, str) else None
                uid = event.get("uid", os.getuid())
                found[name] = Batch(paths, name, uid=uid, cluster=known, begun_at=_time(event) or time.time())
            elif kind == "submitted" and name in found and "slurm_id" in event:
                _check(paths, event["slurm_id"], _SLURM_ID)
                found[name] = replace(found[name], slurm_id=event["slurm_id"])
            elif kind == "rejected" and name in found:
                reason, at = str(event.get("reason", "")), _time(event) or 0.0
                found[name] = replace(found[name], rejected=True, refusal=reason, refused_at=at)
            elif kind == "unknown to Slurm":
                _add_unknown(unknown_since, event)
            elif kind == "cancelled":
                ids_cancelled.add(str(event.get("slurm_id")))
        return cls(paths, list(found.values()), unknown_since, ids_cancelled)

    @property
    def cluster(self) -> str | None:
        """Return the cluster of the first batch; None if nothing was submitted."""
        return next((batch.cluster for batch in self.batches if batch.cluster is not None), None)

    @property
    def accepted(self) -> list[Batch]:
        """Return the batches that Slurm has accepted or may have accepted."""
        return [batch for batch in self.batches if not batch.rejected]

    def submitting(self, batch: Batch) -> None:
        """Record that sbatch is about to be called for a batch."""
        self.batches.append(batch)
        self._append("submitting", batch.name, uid=batch.uid, cluster=batch.cluster)

    def submitted(self, batch: Batch, slurm_id: str) -> None:
        """Record that sbatch accepted a batch as job `slurm_id`."""
        self._append("submitted", batch.name, slurm_id=slurm_id)
        self._change(batch, slurm_id=slurm_id)

    def rejected(self, batch: Batch, reason: str) -> None:
        """Record that sbatch refused a batch, with its message.

        A job of the batch that starts later reads this, and runs nothing.
        """
        self._append("rejected", batch.name, reason=reason)
        self._change(batch, rejected=True)

    def given_up(self, batch: str, indices: Iterable[int]) -> None:
        """Record that elements of a batch may be submitted again although their state is unknown.

        Those that start later read this, and run nothing.
        """
        self._append("given up", batch, indices=ranges.compact(indices))

    def unknown_to_slurm(self, slurm_id: str, indices: Iterable[int]) -> None:
        """Record, with the current time, that slurmctld has no job for these elements of an array."""
        self._append("unknown to Slurm", "", slurm_id=slurm_id, indices=ranges.compact(indices))

    def cancelled(self, slurm_id: str) -> None:
        """Record that scancel succeeded for a job. The job may still be ending: Slurm has its state."""
        self._append("cancelled", "", slurm_id=slurm_id)
        self.ids_cancelled.add(slurm_id)

    def _change(self, batch: Batch, **changes: Any) -> None:
        self.batches = [replace(b, **changes) if b.name == batch.name else b for b in self.batches]

    def _append(self, event: str, batch: str, **facts: Any) -> None:
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        if "reason" in facts:  # the message of sbatch; all other facts are our own and are read again
            facts["reason"] = redacted(facts["reason"], os.environ)
        line = json.dumps({"at": at, "event": event, "batch": batch, **facts}) + "\n"
        append_lines(str(self.paths.journal), line.encode())


def _add_unknown(known: dict[str, dict[int, float]], event: dict[str, Any]) -> None:
    """Add the elements of an event to those that Slurm does not know, with the earliest time. Skip a damaged event."""
    at = _time(event)
    try:
        indices = ranges.expand(event["indices"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return
    if at is None:
        return
    since = known.setdefault(str(event.get("slurm_id")), {})
    since.update((index, min(at, since.get(index, at))) for index in indices)


def _time(event: dict[str, Any]) -> float | None:
    """Return the time of an event in seconds since the epoch; None if it is damaged."""
    try:
        return datetime.datetime.fromisoformat(event["at"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None


def _check(paths: SweepPaths, value: object, pattern: re.Pattern[str]) -> None:
    if not (isinstance(value, str) and pattern.match(value)):
        raise UserError(f"invalid name or job ID: {value!r:.100}", where=str(paths.journal))


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in lines(file):
            try:
                event = decoded(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "event" in event:
                yield event


def locked(folder: Path, timeout_s: float = 0) -> AbstractContextManager[Lease]:
    """Return the lock that lets one hpcbench at a time change a sweep.

    Entering it raises UserError, which names the holder, if another process still holds it after `timeout_s`
    seconds.
    """
    return lease(lock_of(folder), "this sweep", timeout_s)


def lock_of(folder: Path) -> Path:
    """Return the lock file of the sweep in a folder."""
    return folder / ".lock"
