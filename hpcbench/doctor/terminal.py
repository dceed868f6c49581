"""What doctor found, on a terminal or in a pipe: what is ok in one line, all else with what it means and what to do."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.doctor.place import Place, counts
from hpcbench.node.checkup.finding import LEVELS, NOTE, OK, PROBLEM, WARNING, Finding

_STYLES = {OK: "green", NOTE: "cyan", WARNING: "yellow", PROBLEM: "bold red"}
_NARROWEST = 20


def print_places(places: list[Place], console: Console) -> None:
    """All places, then how many findings of each level there are."""
    short = len(places) > 2  # of several nodes, what is well is only named
    for place in places:
        _print(Text(""), Text.assemble((place.title, "bold"), f": {place.facts}" if place.facts else ""), console)
        for group, findings in place.groups.items():
            _print(Text(" "), Text(group, style="italic"), console)
            well = [finding for finding in findings if finding.level == OK]
            if short and well:
                _print(_level(OK), Text(", ".join(finding.subject for finding in well)), console)
            for finding in findings:
                if finding not in well or not short:
                    _print(_level(finding.level), _in_words(finding), console)
    console.print(Text(", ".join(_counted(level, count) for level, count in counts(places).items())))


def _level(level: str) -> Text:
    return Text.assemble("  ", (level.ljust(max(map(len, LEVELS))), _STYLES[level]), " ")


def _in_words(finding: Finding) -> Text:
    words = Text.assemble((finding.subject, "bold"), f": {finding.found}")
    if finding.level != OK:
        words.append(f"\n{finding.means}\nTo do: {finding.mend}", style="dim")
    return words


def _print(label: Text, body: Text, console: Console) -> None:
    """The body beside its label, in the width of the console."""
    for line in body.wrap(console, max(_NARROWEST, console.width - len(label))):
        line.rstrip()
        console.print(label + line, soft_wrap=True)
        label = Text(" " * len(label))


def _counted(level: str, count: int) -> str:
    return f"{count} {level}" + ("s" if count > 1 and level != OK else "")
