"""Print check results on a terminal or into a pipe: results that are ok in few words, others with what to do."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.core.check_result import LEVELS, NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.doctor.checked_host import CheckedHost, counts
from hpcbench.util.text import plural

_STYLES = {OK: "green", NOTE: "cyan", WARNING: "yellow", PROBLEM: "bold red"}
_MIN_WIDTH = 20
_HostResult = tuple[str, CheckResult]  # the name of the host


def print_hosts(console: Console, *places: list[CheckedHost]) -> None:
    """Print the results of each place, those of its hosts together, and the number of results of each level."""
    for hosts in places:
        for host in hosts:
            facts = f": {host.facts}" if host.facts else ""
            _print(Text(""), Text.assemble((host.title, "bold"), facts), console)
        for group in dict.fromkeys(group for host in hosts for group in host.groups):
            _print(Text(" "), Text(group, style="italic"), console)
            results = [(host.name, result) for host in hosts for result in host.groups.get(group, [])]
            _print_group(results, len(hosts), console)
    counted = counts([host for hosts in places for host in hosts])
    console.print(Text(", ".join(_counted(level, count) for level, count in counted.items())))


def _print_group(results: list[_HostResult], hosts: int, console: Console) -> None:
    """Print a group. For several hosts, list only the subjects that are ok, and print equal results once."""
    if hosts > 1:
        ok: dict[str, list[str]] = {}
        for name, result in results:
            if result.level == OK:
                ok.setdefault(result.subject, []).append(name)
        if ok:
            _print(_level(OK), Text(", ".join(_named(subject, ok[subject], hosts) for subject in ok)), console)
    equal: dict[tuple[str, ...], list[_HostResult]] = {}
    for name, result in results:
        if result.level != OK or hosts == 1:
            equal.setdefault((result.level, result.subject, result.means, result.action), []).append((name, result))
    for (level, *_), same in equal.items():
        _print(_level(level), _text(same, hosts), console)


def _named(subject: str, names: list[str], hosts: int) -> str:
    return subject if len(names) == hosts else f"{subject} ({', '.join(names)})"


def _level(level: str) -> Text:
    return Text.assemble("  ", (level.ljust(max(map(len, LEVELS))), _STYLES[level]), " ")


def _text(results: list[_HostResult], hosts: int) -> Text:
    """Return results with the same meaning as text, with the names of their hosts unless all hosts have them."""
    by_found: dict[str, list[str]] = {}
    for name, result in results:
        by_found.setdefault(result.found, []).append(name)
    parts = [found if len(names) == hosts else f"{', '.join(names)}: {found}" for found, names in by_found.items()]
    first = results[0][1]
    text = Text.assemble((first.subject, "bold"), ": " + "\n".join(parts))
    if first.level != OK:
        text.append(f"\n{first.means}\nTo do: {first.action}", style="dim")
    return text


def _print(label: Text, body: Text, console: Console) -> None:
    """Print the body next to its label, in the width of the console."""
    for line in body.wrap(console, max(_MIN_WIDTH, console.width - len(label))):
        line.rstrip()
        console.print(label + line, soft_wrap=True)
        label = Text(" " * len(label))


def _counted(level: str, count: int) -> str:
    return f"{count} {level}" if level == OK else plural(count, level)
