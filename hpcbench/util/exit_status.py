"""The exit statuses of all commands: one table, from which each help and the documentation take their words."""

from __future__ import annotations

SUCCESS = 0
FAILURE = 1
USAGE_ERROR = 2
INCONCLUSIVE = 3
INTERRUPTED = 130
CLOSED_PIPE = 141  # 128 + SIGPIPE, as for other programs

MEANINGS = {
    SUCCESS: "success",
    FAILURE: "a run failed, or a case is slower or worse than before, not accepted, or missing",
    USAGE_ERROR: "usage error",
    INCONCLUSIVE: "inconclusive: no case is slower, but at least one is inconclusive or not compared",
    INTERRUPTED: "interrupted",
}


def exit_statuses(failure: str = "", inconclusive: str = "") -> str:
    """Return the last paragraph of a command's help, with the conditions for 1 and for 3 if the command has them."""
    conditions = {**MEANINGS, FAILURE: failure, INCONCLUSIVE: inconclusive}
    listed = "; ".join(f"{status} {meaning}" for status, meaning in conditions.items() if meaning)
    return f"\nExit status: {listed}.\n"


def examples(*lines: str, failure: str = "") -> str:
    """Return the end of a command's help: one example per line, and the exit statuses with the condition for 1."""
    shown = "".join(f"  {line}\n" for line in lines)
    return f"\b\nExamples:\n{shown}{exit_statuses(failure)}"


def worst(*statuses: int) -> int:
    """Return the status that a command with several results ends with: a failure, otherwise inconclusive."""
    return next((status for status in (FAILURE, INCONCLUSIVE) if status in statuses), SUCCESS)
