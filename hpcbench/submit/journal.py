"""The journal of a sweep: what was asked of Slurm, one JSON line an event, on disk before and after each step.

An intent is written before sbatch is called and its id after it, so that whatever moment hpcbench dies at, a later
`resume` knows what to look for before it submits anything again.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hpcbench.errors import UserError
from hpcbench.locks import exclusive


@dataclass(frozen=True)
class Submission:
    """One sbatch of one job, or the intent of it while `slurm_id` is None."""

    token: str  # ends the job's name in Slurm, unique to this submission
    job: str
    elements: tuple[int, ...]
    slurm_id: str | None = None
    rejected: bool = False
    uid: int = field(default_factory=os.getuid)

    @property
    def ours(self) -> bool:
        """Whether this user submitted it: Slurm may hide other people's jobs."""
        return self.uid == os.getuid()


@dataclass
class Journal:
    """The events of one sweep."""

    path: Path
    submissions: list[Submission] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Journal:
        """The journal at `path`; a sweep without one has no submissions. A cut-off last line is ignored."""
        found: dict[str, Submission] = {}
        for event in _events(path):
            kind, token = event["event"], event.get("token", "")
            if kind == "submitting" and {"job", "elements"} <= event.keys():
                elements = expand_elements(event["elements"])
                found[token] = Submission(token, event["job"], elements, uid=event.get("uid", os.getuid()))
            elif kind == "submitted" and token in found and "slurm_id" in event:
                found[token] = replace(found[token], slurm_id=event["slurm_id"])
            elif kind == "rejected" and token in found:
                found[token] = replace(found[token], rejected=True)
        return cls(path, list(found.values()))

    def submitting(self, submission: Submission) -> None:
        self.submissions.append(submission)
        elements = compact_elements(submission.elements)
        self._append(
            event="submitting", token=submission.token, job=submission.job, elements=elements, uid=submission.uid
        )

    def submitted(self, token: str, slurm_id: str) -> None:
        self._append(event="submitted", token=token, slurm_id=slurm_id)
        self._change(token, slurm_id=slurm_id)

    def rejected(self, token: str, reason: str) -> None:
        self._append(event="rejected", token=token, reason=reason)
        self._change(token, rejected=True)

    def cancelled(self, slurm_id: str) -> None:
        self._append(event="cancelled", slurm_id=slurm_id)

    def _change(self, token: str, **changes: Any) -> None:
        self.submissions = [replace(s, **changes) if s.token == token else s for s in self.submissions]

    def _append(self, **event: Any) -> None:
        at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, **event}) + "\n"
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            _end_cut_line(file)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


def _end_cut_line(file: Any) -> None:
    """Go to the end; a line that an earlier death cut off must not swallow the next one."""
    if file.seek(0, os.SEEK_END):
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            yield event


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Only one hpcbench changes a sweep at a time. Raises UserError where another one does."""
    taken = UserError("another hpcbench is working on this sweep", where=folder.name, hint="wait until it is done")
    with exclusive(folder / ".lock", taken):
        yield


def compact_elements(elements: tuple[int, ...]) -> str:
    """Array indices as sbatch writes them: `0-3,7`."""
    parts: list[str] = []
    start = previous = None
    for element in [*sorted(elements), None]:
        if previous is not None and element is not None and element == previous + 1:
            previous = element
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = element
    return ",".join(parts)


def expand_elements(text: str) -> tuple[int, ...]:
    """The indices that `0-3,7` stands for."""
    elements: list[int] = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        elements += range(int(first), int(last or first) + 1)
    return tuple(elements)
