from __future__ import annotations

import io

from rich.console import Console

from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.doctor.checked_host import CheckedHost, counts
from hpcbench.doctor.terminal import print_hosts

SITE = CheckedHost("site", "site big", "", {"Slurm": [CheckResult("Slurm", OK, "24.05.1 answers")]})
QUIET = CheckResult("background load", OK, "0.01 of 2 usable CPUs busy")


def loud(cpus: float) -> CheckResult:
    return CheckResult("background load", WARNING, f"{cpus} CPUs busy", "Times are longer.", "Stop it.")


def printed(machines: list[CheckedHost], width: int = 80, *, colours: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=colours, highlight=False)
    print_hosts(console, [SITE], machines)
    return console.file.getvalue()  # type: ignore[attr-defined]


def machine(name: str, *findings: CheckResult) -> CheckedHost:
    return CheckedHost(name, f"partition {name}", "n1: a CPU", {"interference": list(findings)})


TURBO = CheckResult("turbo", NOTE, "on", "The clock changes.", "Ask.")


def test_what_is_ok_is_one_line_and_all_else_says_what_it_means_and_what_to_do() -> None:
    assert printed([machine("cpu", QUIET, loud(2))]).splitlines() == [
        "site big",
        " Slurm",
        "  ok      Slurm: 24.05.1 answers",
        "partition cpu: n1: a CPU",
        " interference",
        "  ok      background load: 0.01 of 2 usable CPUs busy",
        "  warning background load: 2 CPUs busy",
        "          Times are longer.",
        "          To do: Stop it.",
        "1 warning, 2 ok",
    ]


def test_of_several_machines_what_is_the_same_is_said_once() -> None:
    machines = [machine("cpu", QUIET, TURBO), machine("gpu", loud(1), TURBO), machine("fat", loud(2), TURBO)]
    assert printed(machines).splitlines()[3:] == [
        "partition cpu: n1: a CPU",
        "partition gpu: n1: a CPU",
        "partition fat: n1: a CPU",
        " interference",
        "  ok      background load (cpu)",
        "  note    turbo: on",
        "          The clock changes.",
        "          To do: Ask.",
        "  warning background load: gpu: 1 CPUs busy",
        "          fat: 2 CPUs busy",
        "          Times are longer.",
        "          To do: Stop it.",
        "2 warnings, 3 notes, 2 ok",
    ]


def test_nothing_is_wider_than_the_terminal_and_nothing_ends_in_blanks() -> None:
    long = CheckResult("noise", PROBLEM, "word " * 60, "mean " * 60, "action " * 60)
    lines = printed([machine("cpu", long)], 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line == line.rstrip() for line in lines)
    assert sum(line.count("word") for line in lines) == 60


def test_a_terminal_gets_colours_and_a_pipe_none() -> None:
    assert "\x1b[33m" in printed([machine("cpu", loud(1))], colours=True)
    assert "\x1b" not in printed([machine("cpu", loud(1))])


def test_brackets_are_no_markup() -> None:
    assert "[/bold] [red]x" in printed([machine("cpu", CheckResult("odd", OK, "[/bold] [red]x"))])


def test_places_become_data() -> None:
    place = machine("cpu", loud(2))
    assert place.as_data() == {
        "place": "cpu",
        "machine": "n1: a CPU",
        "findings": [{"group": "interference", **loud(2)._asdict()}],
    }
    assert counts([SITE, place]) == {"warning": 1, "ok": 1}
