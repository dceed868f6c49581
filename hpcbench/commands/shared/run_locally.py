"""Execute runs on this machine with a progress bar: for sweep and resume."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from hpcbench.core import status
from hpcbench.core.profiling.device_state import CLOCK_KEPT
from hpcbench.core.record import Record
from hpcbench.core.start_rules import failure_limit
from hpcbench.errors import Finding
from hpcbench.report.terminal.status_summary import named
from hpcbench.status.progress import RunProgress
from hpcbench.status.run_local import run_repetition
from hpcbench.store.records import has_interference, interference_causes
from hpcbench.store.sweep import Sweep
from hpcbench.submit.local_executor import LocalExecutor
from hpcbench.util.causes import cause
from hpcbench.util.console import err, print_error, print_warnings
from hpcbench.util.locking.lease import Lease
from hpcbench.util.signals import ended_like_ctrl_c
from hpcbench.util.text import plural

# A program that was not found or is not executable.
_NOT_STARTED = re.compile(r"the command exited with 12[67]\b|the command cannot be started")


def run_here(
    sweep: Sweep, runs: list[RunProgress], lease: Lease, after_first: Callable[[], None] = lambda: None
) -> int:
    """Execute these runs in their planned order; return 0 if all completed with all metrics, otherwise 1.

    `after_first` is called after the first run, before its result is printed.
    """
    ordered = sorted(runs, key=lambda run: run.planned.order)
    counts: Counter[str] = Counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Once a second: drawing more often would take time from what is being measured.
    progress = Progress(*columns, console=err, refresh_per_second=1, disable=not err.is_terminal)
    if any(run.planned.measure["idle_node"] == "wait" for run in ordered):
        err.print("each run waits until this machine is idle, for up to half of its time limit", soft_wrap=True)
    with_interference, lacking, warned = 0, 0, dict[str, None]()
    printed: set[str] = set()  # causes of metrics not found
    stopped: str | None = None
    with ended_like_ctrl_c(), progress as bar, LocalExecutor(sweep.paths, lease.fileno()) as executor:
        task = bar.add_task(sweep.paths.name, total=len(ordered), failed="")
        for run in ordered:
            lease.check()
            record, attempts = run_repetition(sweep, run, executor)
            if run is ordered[0]:
                after_first()
            with_interference += has_interference(record)
            counts[record.status] += 1
            done = sum(counts.values())
            failed = done - counts[status.COMPLETED]
            bar.update(task, advance=1, failed=f"[red]{failed} failed[/red]" if failed else "")
            lacking += bool(record.metrics_not_found)
            warned |= dict.fromkeys(each for each in record.warnings if each.startswith(CLOCK_KEPT))
            stopped = failure_limit.reached(str(sweep.paths.results))
            words = _words(record, printed)
            is_new = bool(record.metrics_not_found) and words == record.in_words
            if not err.is_terminal or record.status != status.COMPLETED or is_new:
                err.print(_line(sweep, run, record, words, len(attempts), f"{done}/{len(ordered)}"), soft_wrap=True)
            if stopped:
                break
    left = len(ordered) - sum(counts.values())
    if stopped and left:
        _print_stopped(sweep, stopped, left)
    print_warnings(warned)
    _print_counts(sweep.paths.name, with_interference, lacking)
    return int(counts[status.COMPLETED] != len(ordered) or lacking > 0)


def _print_stopped(sweep: Sweep, why: str, left: int) -> None:
    """Print why the sweep has stopped, and what to do. The failure itself has been printed."""
    name = shlex.quote(sweep.paths.name)
    what = f"stopped, because {why}; {plural(left, 'run')} not started"
    rest = f"to run the rest: hpcbench resume {name} --no-fail-fast"
    if _NOT_STARTED.search(why):
        rest = (
            f"if the program is missing, install it, then run: hpcbench resume {name} --no-fail-fast\n"
            "if the command is wrong, correct it and start a new sweep"
        )
    print_error(Finding(what, "", f"read the log: hpcbench logs {name} --failed\n{rest}"))


def _print_counts(name: str, with_interference: int, lacking: int) -> None:
    """Print how many runs of a sweep had interference, and how many lack a metric."""
    if with_interference:
        had = f"{plural(with_interference, 'run')} had interference"
        err.print(f"{had}; to rerun them: hpcbench resume {name} --interference", soft_wrap=True)
    if lacking:
        lack = f"{plural(lacking, 'run')} completed, metric not found"
        err.print(f"{lack}; reasons: hpcbench status {name}", soft_wrap=True)
        err.print(f"to correct a metric, change its definition, then run: hpcbench reparse {name}", soft_wrap=True)


def _words(record: Record, printed: set[str]) -> str:
    """Return the status with the message; without it if a metric was not found for a cause in `printed`, or add it."""
    if record.status != status.COMPLETED or not record.metrics_not_found:
        return record.in_words
    why = cause(record.message)
    if why in printed:
        return f"{record.status}, {status.METRIC_NOT_FOUND}"
    printed.add(why)
    return record.in_words


def _line(sweep: Sweep, run: RunProgress, record: Record, words: str, times: int, place: str) -> Text:
    causes = interference_causes(record)
    reason = f", interference: {causes}" if causes and not record.message else ""
    again = f", measured {times} times" if times > 1 else ""
    return Text(f"{place} {named(sweep, run.planned)}: {words}{reason}{again}")
