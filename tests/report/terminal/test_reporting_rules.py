"""The rules on a terminal: a few lines, none where all is well, and every rule on request."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from hpcbench.analysis.studies.reporting_rules import RULES, RuleViolation
from hpcbench.report.terminal.reporting_rules import MAX_LINES, print_rules, print_violations


def printed(findings: list[RuleViolation], *, every: bool = False, color: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=40, highlight=False, force_terminal=color, color_system="standard" if color else None
    )
    if every:
        print_rules(findings, {11: "no case has a speedup over another case"}, console)
    else:
        print_violations(findings, console)
    return file.getvalue()


def found(count: int) -> list[RuleViolation]:
    return [RuleViolation(number % 12 + 1, f"lack {number}", f"mend {number}") for number in range(count)]


def test_nothing_is_said_where_all_is_well() -> None:
    assert printed([]) == ""


def test_a_finding_is_one_line_with_its_rule_what_is_lacking_and_what_to_do() -> None:
    lines = printed([RuleViolation(1, "without a base case", "set one with --baseline-case")]).splitlines()
    assert lines[0] == "rule 1 (base case): without a base case; set one with --baseline-case"
    assert " ".join(line.strip() for line in lines[1:]) == "All twelve rules of Hoefler and Belli (SC15): --rules"


@pytest.mark.parametrize("more", [0, 1, 7])
def test_beyond_a_few_lines_findings_are_counted(more: int) -> None:
    text = " ".join(printed(found(MAX_LINES + more)).split())
    assert re.findall(r"lack (\d+)", text) == [str(number) for number in range(MAX_LINES)]
    assert ("... and" in text) == (more > 0)
    assert f"... and {more} more; all twelve rules" in text or not more


def test_every_rule_is_shown_on_request_in_order_with_all_that_is_lacking() -> None:
    findings = [
        RuleViolation(9, "kernel differs", "hold it"),
        RuleViolation(2, "one failed", "resume"),
        RuleViolation(9, "dirty", "commit"),
    ]
    lines = printed(findings, every=True).splitlines()
    shown = [re.match(r" ?(\d+) (.+?)  +((?:not )?kept|not applicable): (.+)", line) for line in lines]
    rules = [match.groups() for match in shown if match]
    assert [int(number) for number, *_ in rules] == sorted([*RULES, 9])
    assert [text for _, _, kept, text in rules if kept == "not kept"] == [
        "one failed; resume",
        "kernel differs; hold it",
        "dirty; commit",
    ]
    assert all(text == RULES[int(number)].kept for number, _, kept, text in rules if kept == "kept")
    assert [(number, text) for number, _, kept, text in rules if kept == "not applicable"] == [
        ("11", "no case has a speedup over another case")
    ]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("data", ["[red]", "[/]", "a:bug:b"])
def test_data_in_a_finding_is_printed_as_it_is(every: bool, data: str) -> None:
    text = printed([RuleViolation(9, f"kernel ({data})", "hold it")], every=every, color=True)
    assert f"kernel ({data})" in re.sub(r"\x1b\[[0-9;]*m", "", text)
