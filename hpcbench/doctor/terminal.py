"""What doctor found, on a terminal or in a pipe: what is ok in few words, else with what it means and what to do."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.core.check_result import LEVELS, NOTE, OK, PROBLEM, WARNING, Finding
from hpcbench.doctor.checked_host import Place, counts
from hpcbench.util.text import plural

_STYLES = {OK: "green", NOTE: "cyan", WARNING: "yellow", PROBLEM: "bold red"}
_NARROWEST = 20
Told = tuple[str, Finding]  # by the name of the place


def print_places(site: Place, machines: list[Place], console: Console) -> None:
    """The site, then all machines together, then how many findings of each level there are."""
    for places in ([site], machines):
        for place in places:
            facts = f": {place.facts}" if place.facts else ""
            _print(Text(""), Text.assemble((place.title, "bold"), facts), console)
        for group in dict.fromkeys(group for place in places for group in place.groups):
            _print(Text(" "), Text(group, style="italic"), console)
            told = [(place.name, finding) for place in places for finding in place.groups.get(group, [])]
            _print_group(told, len(places), console)
    counted = counts([site, *machines])
    console.print(Text(", ".join(_counted(level, count) for level, count in counted.items())))


def _print_group(told: list[Told], places: int, console: Console) -> None:
    """Of several machines, what is well is only named, and what is the same is said once."""
    if places > 1:
        well: dict[str, list[str]] = {}
        for name, finding in told:
            if finding.level == OK:
                well.setdefault(finding.subject, []).append(name)
        if well:
            _print(_level(OK), Text(", ".join(_named(subject, well[subject], places) for subject in well)), console)
    alike: dict[tuple[str, ...], list[Told]] = {}
    for name, finding in told:
        if finding.level != OK or places == 1:
            alike.setdefault((finding.level, finding.subject, finding.means, finding.mend), []).append((name, finding))
    for (level, *_), findings in alike.items():
        _print(_level(level), _in_words(findings, places), console)


def _named(subject: str, names: list[str], places: int) -> str:
    return subject if len(names) == places else f"{subject} ({', '.join(names)})"


def _level(level: str) -> Text:
    return Text.assemble("  ", (level.ljust(max(map(len, LEVELS))), _STYLES[level]), " ")


def _in_words(told: list[Told], places: int) -> Text:
    """Findings of one subject that mean the same; where they are, unless everywhere."""
    by_found: dict[str, list[str]] = {}
    for name, finding in told:
        by_found.setdefault(finding.found, []).append(name)
    parts = [found if len(names) == places else f"{', '.join(names)}: {found}" for found, names in by_found.items()]
    first = told[0][1]
    words = Text.assemble((first.subject, "bold"), ": " + "\n".join(parts))
    if first.level != OK:
        words.append(f"\n{first.means}\nTo do: {first.mend}", style="dim")
    return words


def _print(label: Text, body: Text, console: Console) -> None:
    """The body beside its label, in the width of the console."""
    for line in body.wrap(console, max(_NARROWEST, console.width - len(label))):
        line.rstrip()
        console.print(label + line, soft_wrap=True)
        label = Text(" " * len(label))


def _counted(level: str, count: int) -> str:
    return f"{count} {level}" if level == OK else plural(count, level)
