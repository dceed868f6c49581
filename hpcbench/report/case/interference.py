"""What the monitors saw others do, of each repetition that was not clean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hpcbench.monitor.interference import CLEAN
from hpcbench.report.case.facts import Fact, Facts
from hpcbench.report.case.view import CaseView
from hpcbench.report.terminal import figure


def interference(view: CaseView) -> Facts:
    """Empty where nothing was measured."""
    judged = [record for record in view.ended if record["interference"]]
    if not judged:
        return Facts([])
    clean = [record for record in judged if record["interference"]["verdict"] == CLEAN]
    facts: list[Fact] = [("clean", f"{len(clean)} of {len(judged)} repetitions")]
    for record in judged:
        if record not in clean:
            facts.append((f"repetition {record['repetition']}", "\n".join(_lines(record["interference"]))))
    unseen = dict.fromkeys(what for record in judged for what in record["interference"]["unseen"])
    return Facts([*facts, ("not seen", "; ".join(unseen))])


def _lines(judged: dict[str, Any]) -> Iterator[str]:
    yield str(judged["verdict"]) + (f": {judged['reason']}" if judged["reason"] else "")
    windows = len(judged["windows"])
    for found in judged["found"]:
        causes = ", ".join(found["causes"])
        yield f"{causes}: {found['what']} ({figure(found['size'])} at most, in {found['windows']} of {windows} windows)"
