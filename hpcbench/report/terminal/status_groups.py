"""Runs of a sweep by state and reason, with their array tasks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from hpcbench.core import ranges
from hpcbench.core.status import METRIC_NOT_FOUND
from hpcbench.report.terminal.status import plain
from hpcbench.slurm import node_list, reasons
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.util.causes import cause
from hpcbench.util.text import plural

MAX_GROUPS = 5  # groups per state
MAX_JOBS = 3
LONGEST = 30  # characters of a list of elements


def lines(progress: Progress) -> list[Text]:
    """Return for each group its size, reason, hint and elements; at most the MAX_GROUPS largest groups per state."""
    shown = []
    for state, by_reason in groups(progress).items():
        largest = sorted(by_reason.items(), key=lambda group: -len(group[1]))
        for reason, runs in largest[:MAX_GROUPS]:
            shown += _group(state, reason, runs)
        if len(largest) > MAX_GROUPS:
            rest = sum(len(runs) for _, runs in largest[MAX_GROUPS:])
            shown.append(Text(f"... and {rest:,} more {state}, for other reasons: see --json", style="dim"))
    return shown


def groups(progress: Progress) -> dict[str, dict[str, list[RunProgress]]]:
    """Return the runs by state and first reason of each cause, in the order of Progress.counts."""
    found: dict[str, dict[str, list[RunProgress]]] = {state: {} for state in progress.counts()}
    first: dict[tuple[str, str], str] = {}
    for run in progress.runs:
        reason = first.setdefault((run.state, cause(run.reason, node_list.expand(run.nodes))), run.reason)
        found.setdefault(run.state, {}).setdefault(reason, []).append(run)
    return found


def _group(state: str, reason: str, runs: Sequence[RunProgress]) -> list[Text]:
    nodes = _nodes(runs)
    if reason.startswith(METRIC_NOT_FOUND):
        state, reason = f"{state}, {METRIC_NOT_FOUND}", reason.removeprefix(f"{METRIC_NOT_FOUND}: ")
    head = Text.assemble(
        (f"{len(runs):,} {state}", "bold"),
        f" on {nodes}" * bool(nodes),
        f": {plain(reason)}" * bool(reason),
    )
    to_do = reasons.hint(reason) if runs[0].record is None else ""
    return [head, *([Text(f"    {to_do}")] if to_do else []), Text(f"    {elements_in_words(runs)}", style="dim")]


def elements_in_words(runs: Sequence[RunProgress]) -> str:
    """Return `12_[0-999] (job-001); array tasks 3,7 of job-002; and 8 more jobs`, in the syntax of scancel."""
    jobs: dict[tuple[str, str | None], set[int]] = {}
    for run in runs:
        number = run.index if run.slurm_id and run.index is not None else run.element
        jobs.setdefault((run.job, run.slurm_id), set()).add(number)
    parts = [
        f"{slurm_id}_[{_cut(ranges.compact(numbers))}] ({job})"
        if slurm_id
        else f"array tasks {_cut(ranges.compact(numbers))} of {job}"
        for (job, slurm_id), numbers in list(jobs.items())[:MAX_JOBS]
    ]
    more = len(jobs) - MAX_JOBS
    return "; ".join([*parts, *([f"and {plural(more, 'more job')}"] if more > 0 else [])])


def _cut(elements: str) -> str:
    return elements if len(elements) <= LONGEST else elements[: elements.rindex(",", 0, LONGEST)] + ",..."


def _nodes(runs: Sequence[RunProgress]) -> str:
    lists = {run.nodes for run in runs}
    return node_list.compact({node for text in lists for node in node_list.expand(text)})
