"""The options that stop a sweep when its programs fail."""

from __future__ import annotations

from collections.abc import Callable

import click

from hpcbench.commands.shared.context import Command
from hpcbench.core.start_rules.failure_limit import FailureLimit


def failure_options(command: Command) -> Command:
    """Add `--fail-fast` and `--max-failures`; the parameters are `fail_fast`, None if not given, and `max_failures`."""
    text = (
        "Start with one run of each workload, and stop if its program fails. A failed validation counts as a failure "
        "of the program. A run that reaches its time limit or runs out of memory does not stop the sweep.  "
        "[default: on this machine --fail-fast, on Slurm --no-fail-fast]"
    )
    add: Callable[[Command], Command] = click.option("--fail-fast/--no-fail-fast", default=None, help=text)
    most: Callable[[Command], Command] = click.option(
        "--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop after N failed runs."
    )
    return add(most(command))


def failure_limit_of(fail_fast: bool | None, max_failures: int | None, scheduler: str) -> FailureLimit:
    """Return the limit by the options. Without `fail_fast`, the first failure stops only sweeps on this machine."""
    return FailureLimit(scheduler == "local" if fail_fast is None else fail_fast, max_failures)
