"""Which of the twelve rules for performance reports a report does not keep, and what to do, on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.studies.reporting_rules import RULES, Finding

MOST = 4  # lines


def print_findings(findings: list[Finding], console: Console) -> None:
    """The worst findings, one a line, and how many more there are; nothing where there is none."""
    for finding in findings[:MOST]:
        name = f"rule {finding.rule} ({RULES[finding.rule].name})"
        console.print(Text.assemble((name, "yellow"), f": {_said(finding)}"), soft_wrap=True)
    if findings:
        more = f"... and {len(findings) - MOST} more; all" if len(findings) > MOST else "All"
        console.print(f"{more} twelve rules of Hoefler and Belli (SC15): --rules")


def print_rules(findings: list[Finding], console: Console) -> None:
    """Every rule: what is not kept of it, or how it is."""
    console.print("The twelve rules of Hoefler and Belli (SC15), see docs/rules.md:")
    for number, rule in RULES.items():
        broken = [finding for finding in findings if finding.rule == number]
        for said in map(_said, broken):
            console.print(
                Text.assemble(f"{number:>2} {rule.name:<13}  ", ("not kept", "yellow"), f": {said}"), soft_wrap=True
            )
        if not broken:
            console.print(Text(f"{number:>2} {rule.name:<13}  kept: {rule.kept}"), soft_wrap=True)


def _said(finding: Finding) -> str:
    return f"{finding.lacking}; {finding.remedy}"
