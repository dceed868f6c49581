"""Interference seen by the monitors, for each repetition with any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpcbench.core.samples import CLEAN
from hpcbench.report.terminal.case.facts import Fact, Facts
from hpcbench.report.terminal.case.view import CaseView
from hpcbench.report.text.numbers import figure
from hpcbench.util.text import plural


def interference(view: CaseView) -> Facts:
    """Return the facts on interference; none if nothing was measured."""
    judged = [record for record in view.ended if record["interference"]]
    if not judged:
        return Facts([])
    clean = sum(record["interference"]["verdict"] == CLEAN for record in judged)
    facts: list[Fact] = [("clean", f"{clean} of {plural(len(judged), 'repetition')}")]
    told: dict[str, list[str]] = {}
    for record in judged:
        if record["interference"]["verdict"] != CLEAN:
            told.setdefault("\n".join(_lines(record["interference"])), []).append(str(record["repetition"]))
    facts += [(f"in {', '.join(numbers)}", words) for words, numbers in told.items()]
    unseen = dict.fromkeys(what for record in judged for what in record["interference"]["unseen"])
    return Facts([*facts, ("not seen", "; ".join(unseen))])


def _lines(judged: dict[str, Any]) -> Iterator[str]:
    yield str(judged["verdict"]) + (f": {judged['reason']}" if judged["reason"] else "")
    windows = len(judged["windows"])
    for found in judged["found"]:
        causes = ", ".join(found["causes"])
        yield f"{causes}: {found['what']} ({figure(found['size'])} at most, in {found['windows']} of {windows} windows)"
