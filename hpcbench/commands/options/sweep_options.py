"""The argument and options of the commands that make a sweep of an experiment: sweep and profile."""

from __future__ import annotations

import click

from hpcbench.commands.options.completion import complete_experiment, complete_sweep
from hpcbench.commands.options.dry_run import dry_run_options
from hpcbench.commands.options.failure_options import failure_options
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.options.predict_options import predict_options
from hpcbench.commands.shared.context import Command, set_option, site_option, yes_option
from hpcbench.commands.shared.planning import MOST_POINTS

_OPTIONS = (
    click.argument("experiment", metavar="[EXPERIMENT]", required=False, shell_complete=complete_experiment),
    click.option(
        "--from",
        "origin",
        metavar="SWEEP",
        shell_complete=complete_sweep,
        help="Repeat SWEEP, a name or an archive.",
    ),
    site_option(),
    set_option(),
    click.option("--name", metavar="NAME", help="Name the sweep.  [default: EXPERIMENT-DATE-TIME]"),
    click.option("--limit", type=click.IntRange(min=1), help="Run only the first N cases."),
    click.option("--local", is_flag=True, help="Run on this machine, in the foreground."),
    dry_run_options("Show cases, commands, jobs and the maximum cost; write nothing."),
    click.option("--render-only", is_flag=True, help="Write the scripts; submit nothing."),
    click.option("--wait", is_flag=True, help="Wait until all jobs have ended."),
    failure_options,
    click.option(
        "--replace", is_flag=True, help="Replace an existing sweep of this --name, unless it has active runs."
    ),
    predict_options,
    yes_option(f"Do not ask for confirmation before --replace deletes records; allow more than {MOST_POINTS:,} cases."),
    json_option("Print JSON: the state of the sweep; with --dry-run, the plan."),
)


def sweep_options(command: Command) -> Command:
    """Add the argument EXPERIMENT and the options of `hpcbench sweep` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
