"""Violations of the twelve rules for performance reports on a terminal, with remedies."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.studies.reporting_rules import RULES, RuleViolation

MAX_LINES = 4  # violations


def print_violations(violations: list[RuleViolation], console: Console) -> None:
    """Print the worst violations, one per line, and the number of omitted ones."""
    for violation in violations[:MAX_LINES]:
        name = f"rule {violation.rule} ({RULES[violation.rule].name})"
        console.print(Text.assemble((name, "yellow"), f": {_in_words(violation)}"), soft_wrap=True)
    if violations:
        more = f"... and {len(violations) - MAX_LINES} more; all" if len(violations) > MAX_LINES else "All"
        console.print(f"{more} twelve rules of Hoefler and Belli (SC15): --rules")


def print_rules(violations: list[RuleViolation], unused: Mapping[int, str], console: Console) -> None:
    """Print every rule with its violations, how the report keeps it, or why it does not apply (`unused`)."""
    console.print("The twelve rules of Hoefler and Belli (SC15), see docs/concepts/twelve-rules.md:")
    for number, rule in RULES.items():
        broken = [violation for violation in violations if violation.rule == number]
        for text in map(_in_words, broken):
            console.print(
                Text.assemble(f"{number:>2} {rule.name:<13}  ", ("not kept", "yellow"), f": {text}"), soft_wrap=True
            )
        if not broken:
            state = f"not applicable: {unused[number]}" if number in unused else f"kept: {rule.kept}"
            console.print(Text(f"{number:>2} {rule.name:<13}  {state}"), soft_wrap=True)


def _in_words(violation: RuleViolation) -> str:
    return f"{violation.lacking}; {violation.remedy}"
