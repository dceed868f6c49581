"""The state of a sweep on a terminal, limited to the rows of the terminal."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from hpcbench.core import status
from hpcbench.report.terminal import status_summary
from hpcbench.slurm import reasons, states
from hpcbench.status.progress import PLANNED, UNKNOWN, Progress, RunProgress

MAX_VALUES = 8  # values of an axis
MAX_REASONS = 6
MAX_FAILURES = 5
UNBOUNDED = 1000  # rows
_BAR = 30  # characters of the progress bar

# Columns of the table by axis, and their states. All other states are failures.
_COLUMNS = {
    "completed": (status.COMPLETED,),
    "running": (states.RUNNING,),
    "pending": (states.PENDING,),
    "planned": (PLANNED,),
    "unknown": (UNKNOWN,),
    "never started": (status.NEVER_STARTED,),
    "skipped": (status.SKIPPED,),
    "unsupported": (status.UNSUPPORTED,),
}
_FAILED = "failed"


class Section(NamedTuple):
    """A section of the view that can be cut: at most `most` of its entries are shown, each of `cost` rows."""

    entries: int
    most: int
    cost: int = 1
    title: int = 0

    def rows(self, shown: int) -> int:
        """Return the rows of a section with `shown` entries, including its title and the row on omitted entries."""
        return self.title + shown * self.cost + (shown < self.entries) if shown else 0


def view(progress: Progress, now: datetime.datetime, footer: str = "", rows: int = UNBOUNDED) -> Group:
    """Return the state of a sweep in at most `rows` rows: counts, nodes, expected end, axes, reasons, failures."""
    axes = status_summary.by_axis(progress)
    waiting = status_summary.waiting(progress.runs)
    failed = status_summary.failures(progress.runs)[::-1]
    head = _head(progress, now)
    sections = [
        Section(len(waiting), MAX_REASONS, cost=2, title=1),
        Section(len(failed), MAX_FAILURES, cost=2, title=1),
        *(Section(len(values), MAX_VALUES) for values in axes.values()),
    ]
    of_reasons, of_failures, *of_axes = shares(sections, rows - len(head) - bool(axes) - bool(footer))
    parts = [*map(_line, head)]
    if any(of_axes):
        parts.append(_axes(axes, of_axes))
    if of_reasons:
        parts += _reasons(waiting, of_reasons)
    if of_failures:
        parts += _failures(progress, failed, of_failures)
    return Group(*parts, *([_line(Text(footer, style="dim"))] if footer else []))


def shares(sections: Sequence[Section], rows: int) -> list[int]:
    """Return the number of entries of each section to show, distributing `rows` in turns of one entry each."""
    shown = [0] * len(sections)
    while True:
        before = list(shown)
        for place, section in enumerate(sections):
            more = section.rows(shown[place] + 1) - section.rows(shown[place])
            if shown[place] < min(section.most, section.entries) and more <= rows:
                shown[place] += 1
                rows -= more
        if shown == before:
            return shown


def counted(counts: dict[str, int]) -> str:
    """Return counts by state as text: `7,000 pending, 1 running`."""
    return ", ".join(f"{count:,} {state}" for state, count in counts.items())


def nodes_in_words(runs: Sequence[RunProgress]) -> str:
    """Return the nodes with active runs: `n[1-3] (2 each), n4`; empty if there are none or nodes are unknown."""
    return ", ".join(
        nodes if count == 1 else f"{nodes} ({count}{' each' if ',' in nodes or '[' in nodes else ''})"
        for count, nodes in status_summary.running_on(runs).items()
    )


def expected_in_words(progress: Progress, now: datetime.datetime) -> str:
    """Return the expected end of the submitted jobs: `Sun 16:40, in 2 h 31 min`; empty if it is unknown."""
    end = status_summary.expected_end(progress, now)
    if end is None:
        return ""
    day = "" if end.date() == now.date() else f"{end:%a} " if end - now < datetime.timedelta(days=6) else f"{end:%F} "
    more = progress.sweep.scheduler == "slurm" and PLANNED in progress.counts()
    of = " (of the submitted jobs)" if more else ""
    return f"{day}{end:%H:%M}, in {length(max(0.0, (end - now).total_seconds()))}{of}"


def follow_on_in_words(progress: Progress) -> str:
    """Return the continuation job that submits the remaining jobs, or why it does not start; empty without one."""
    words = {"": "submits the remaining jobs"}
    return "; ".join(
        f"job {job} {words.get(why) or f'does not start: {why}'}" for job, why in progress.follow_on.items()
    )


def tried_again_in_words(progress: Progress) -> str:
    """Return the number of retries: `3 times, after 2 node_failure, 1 interference`; empty if every attempt counts."""
    earlier = status_summary.tried_again(progress.runs)
    times = sum(earlier.values())
    return f"{times:,} time{'s' * (times != 1)}, after {counted(earlier)}" if earlier else ""


def length(seconds: float) -> str:
    """Return a time span in minutes, hours or days: `under a minute`, `5 min`, `2 h 31 min`, `3 d 4 h`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def failure(progress: Progress, run: RunProgress) -> Text:
    """Return one line with status, axes and reason of a failed run."""
    what = f"{status_summary.named(progress.sweep, run.planned)}: {run.reason or 'unknown'}"
    return Text.assemble((run.state, "red"), " ", plain(what))


def plain(text: str) -> str:
    """Return text in one line without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _head(progress: Progress, now: datetime.datetime) -> list[RenderableType]:
    """Return one row per fact, the most important first, since a narrow terminal cuts the rest."""
    counts = progress.counts()
    cases = progress.case_counts()
    ended = sum(run.ended for run in progress.runs)
    total = len(progress.runs)
    bar = Table.grid(padding=(0, 1))
    bar.add_row(_label("runs"), ProgressBar(total, ended, width=_BAR), f"{ended:,} of {total:,} ended")
    facts = {
        "": counted(dict(reversed(counts.items()))),
        "cases": counted(dict(reversed(cases.items()))) if cases != counts else "",
        "running on": nodes_in_words(progress.runs),
        "retried": tried_again_in_words(progress),
        "expected end": expected_in_words(progress, now),
        "continuation": follow_on_in_words(progress),
    }
    name, site = progress.sweep.paths.name, progress.sweep.description["site"]["name"]
    title = Text.assemble((name, "bold"), f" on {site} at {now:%H:%M:%S}")
    return [title, bar, *(Text(f"{_label(name)} {words}") for name, words in facts.items() if words)]


def _label(name: str) -> str:
    return f"{name:12}"


def _axes(axes: dict[str, list[status_summary.AxisValue]], shown: list[int]) -> Table:
    by_value = [_by_column(value.states) for values in axes.values() for value in values]
    columns = [name for name in (*_COLUMNS, _FAILED) if any(column[name] for column in by_value)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("axis", no_wrap=True, overflow="ellipsis")
    table.add_column("value", no_wrap=True, overflow="ellipsis", justify="right")
    for name in (*columns, "total"):
        table.add_column(name, no_wrap=True, justify="right")
    for (name, values), most in zip(axes.items(), shown, strict=True):
        unfinished_first = sorted(values, key=lambda value: value.done) if len(values) > most else values
        for place, value in enumerate(unfinished_first[:most]):
            counts = _by_column(value.states)
            cells = (_figure(counts[column], column) for column in columns)
            table.add_row(Text(name if place == 0 else ""), Text(_cell(value.value)), *cells, f"{counts.total():,}")
        if 0 < most < len(values):
            table.add_row("", Text(f"... {len(values) - most:,} more", style="dim"))
    return table


def _by_column(counts: Counter[str]) -> Counter[str]:
    columns = {state: column for column, of_column in _COLUMNS.items() for state in of_column}
    found: Counter[str] = Counter()
    for state, count in counts.items():
        found[columns.get(state, _FAILED)] += count
    return found


def _figure(count: int, column: str) -> Text:
    return Text(f"{count:,}" if count else "-", style="red" if count and column == _FAILED else "")


def _cell(value: Any) -> str:
    return "-" if value is None else plain(str(value))


def _reasons(waiting: dict[str, int], shown: int) -> list[RenderableType]:
    lines = [Text("not finished because", style="bold")]
    for reason, count in list(waiting.items())[:shown]:
        lines.append(Text(f"  {count:,}  {plain(reason)}"))
        to_do = reasons.hint(reason)
        lines += [Text(f"     {to_do}", style="dim")] if to_do else []
    return [*map(_line, lines), *_more(len(waiting) - shown)]


def _failures(progress: Progress, failed: list[RunProgress], shown: int) -> list[RenderableType]:
    lines = [Text("latest failures", style="bold")]
    for run in failed[:shown]:
        lines.append(Text("  ") + failure(progress, run))
        log = status_summary.log_of(progress.sweep, run)
        lines += [Text(f"    {log}", style="dim")] if log else []
    return [*map(_line, lines), *_more(len(failed) - shown)]


def _more(count: int) -> list[RenderableType]:
    return [_line(Text(f"  ... and {count:,} more", style="dim"))] if count > 0 else []


def _line(part: RenderableType) -> RenderableType:
    """Return a text that is cut to one row."""
    if isinstance(part, Text):
        part.no_wrap, part.overflow = True, "ellipsis"
    return part
