"""Interference with the runs of a case, as detected by the monitors."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.core.record import Interference
from hpcbench.core.samples import CLEAN
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural


def interference(view: CaseView) -> Facts:
    """Return the facts on interference by run; none without monitored runs."""
    judged = [(record.run, record.interference) for record in view.ended if record.interference]
    if not judged:
        return Facts([])
    clean = sum(interference.verdict == CLEAN for _, interference in judged)
    facts: list[Fact] = [("clean", f"{clean} of {plural(len(judged), 'run')}")]
    details: dict[str, list[str]] = {}
    for repetition, interference in judged:
        if interference.verdict != CLEAN:
            details.setdefault("\n".join(_lines(interference)), []).append(str(repetition))
    facts += [(f"in {', '.join(numbers)}", words) for words, numbers in details.items()]
    unseen = dict.fromkeys(what for _, interference in judged for what in interference.unseen)
    return Facts([*facts, ("not monitored", "; ".join(unseen))])


def _lines(interference: Interference) -> Iterator[str]:
    yield str(interference.verdict) + (f": {interference.reason}" if interference.reason else "")
    windows = len(interference.windows)
    for found in interference.found:
        causes = ", ".join(found.causes)
        yield f"{causes}: {found.what} ({figure(found.size)} at most, in {found.windows} of {windows} windows)"
