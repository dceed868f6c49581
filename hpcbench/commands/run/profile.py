"""hpcbench profile: a sweep that also profiles the operators of each network."""

from __future__ import annotations

from typing import Any

import click

from hpcbench.commands.options.sweep_options import sweep_options
from hpcbench.core.profiling.operator_row import MOST_CLOCKS
from hpcbench.util.exit_status import SUCCESS, exit_statuses

EPILOG = """\b
Examples:
  hpcbench profile quickstart                    the networks of a shipped experiment
  hpcbench profile profile --dry-run             what would run, with an estimate of node-hours
  hpcbench profile my.yaml --local --power off   on this machine, without power
  hpcbench profile my.yaml --clocks 5            also at five clocks of the device
  hpcbench profile my.yaml --set measure.repetitions=3
  hpcbench report latest --operators operators.parquet    the rows as a table, with power and energy
""" + exit_statuses("a case did not complete (local, or with --wait)")
# Options that a later --set may override.
_SETTINGS = ("measure.repetitions=1", "measure.profile={unsupported: skip}")


def _power(_: click.Context, option: click.Parameter, value: str) -> str:
    if value not in ("auto", "off") and not (value.isascii() and value.isdigit() and int(value)):
        raise click.BadParameter(f"'{value}' is not auto, off or a number above 0", param=option)
    return value


@click.command("profile", epilog=EPILOG)
@click.option(
    "--power",
    metavar="{auto,off,N}",
    default="auto",
    show_default=True,
    callback=_power,
    help="Measure the power of N operators; auto: up to 80 with different utilization, if the node has a power sensor.",
)
@click.option(
    "--clocks",
    metavar="N",
    type=click.IntRange(1, MOST_CLOCKS),
    help="Also profile at N clocks of the device, then restore it. Requires permission on the node. [default: off]",
)
@sweep_options
@click.pass_context
def profile_command(
    context: click.Context, /, power: str, clocks: int | None, settings: tuple[str, ...], **_: Any
) -> int:
    """Measure the cases of EXPERIMENT, and time each operator of their networks: forward, backward, optimizer.

    It is `hpcbench sweep` with `measure.profile` and one run per case (--set measure.repetitions=N for more). Only
    PyTorch has an operator profiler, for inference and training in one process: other cases are left out, with a
    warning.
    """
    from hpcbench.commands.run.sweep import sweep_command  # plans, and runs or submits

    del context.params["power"], context.params["clocks"]
    chosen = (f"measure.profile.clocks={clocks}",) if clocks else ()
    context.params["settings"] = (*_SETTINGS, f"measure.profile.power={power}", *chosen, *settings)
    return int(sweep_command.invoke(context) or SUCCESS)
