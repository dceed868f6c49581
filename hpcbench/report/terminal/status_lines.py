"""The state of a sweep in a pipe or a log: a line per change, and one per failure when it occurs."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable
from typing import TypeVar

from rich.text import Text

from hpcbench.report.terminal import status_summary
from hpcbench.report.terminal.status import counted, expected_in_words, failure, plain
from hpcbench.slurm import reasons
from hpcbench.status.progress import Progress
from hpcbench.util.text import plural

MAX_FAILURES = 10  # failures per update
T = TypeVar("T", bound=Hashable)


class Lines:
    """The state that was printed, so that later updates print only changes."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._told: set[Hashable] = set()

    def news(self, progress: Progress, now: datetime.datetime) -> list[Text]:
        """Return the lines on what has changed since the last call."""
        lines = []
        counts = progress.counts()
        if counts != self._counts:
            self._counts = counts
            end = expected_in_words(progress, now)
            expected = f"; expected end {end}" if end else ""
            lines.append(Text(f"{progress.sweep.paths.name}: {counted(counts)}{expected}"))
        not_starting = status_summary.not_starting(progress.runs)
        for reason in self._new(status_summary.waiting(progress.runs)):
            to_do = reasons.hint(reason)
            head = "not started: " if reason in not_starting else "waiting because "
            lines.append(Text(f"{head}{plain(reason)}{f': {to_do}' if to_do else ''}"))
        return lines + self._failures(progress)

    def _failures(self, progress: Progress) -> list[Text]:
        failed = {status_summary.attempt_of(run): run for run in status_summary.failures(progress.runs)}
        new = [failed[attempt] for attempt in self._new(failed)]
        lines = []
        for run in new[:MAX_FAILURES]:
            log = status_summary.log_of(progress.sweep, run)
            lines.append(failure(progress, run).append(f" (log: {log})" if log else ""))
        if len(new) > MAX_FAILURES:
            more = plural(len(new) - MAX_FAILURES, "more failure")
            lines.append(Text(f"... and {more}: hpcbench status {progress.sweep.paths.name}"))
        return lines

    def _new(self, things: Iterable[T]) -> list[T]:
        new = [thing for thing in things if thing not in self._told]
        self._told.update(new)
        return new
