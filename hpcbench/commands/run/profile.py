"""hpcbench profile: a sweep that also profiles the operators of each network."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from hpcbench.commands.options.sweep_options import sweep_options
from hpcbench.commands.shared.context import workspace_of
from hpcbench.core.profiling.operator_row import MOST_CLOCKS
from hpcbench.errors import UserError
from hpcbench.util.console import out, print_warning
from hpcbench.util.exit_status import FAILURE, SUCCESS, exit_statuses
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench profile quickstart                    the networks of a shipped experiment
  hpcbench profile profile --dry-run             what would run, with an estimate of node-hours
  hpcbench profile my.yaml --local --power off   on this machine, without power
  hpcbench profile my.yaml --clocks 5            also at five clocks of the device
  hpcbench profile my.yaml --set measure.repetitions=3
  hpcbench profile --restore-clocks              restore the clocks of this node after a killed profile
  hpcbench report latest --operators operators.parquet    the operators as a table, with power and energy
""" + exit_statuses("a case did not complete (local, or with --wait), or a clock could not be restored")
# Options that a later --set may override. The second one also asks for a profile; the file's other settings stay.
_SETTINGS = ("measure.repetitions=1", "measure.profile.unsupported=skip", "measure.retries=0")


def _power(_: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and value not in ("auto", "off") and not (value.isascii() and value.isdigit() and int(value)):
        raise click.BadParameter(f"'{value}' is not auto, off or a number above 0", param=option)
    return value


@click.command("profile", epilog=EPILOG)
@click.option(
    "--power",
    metavar="{auto,off,N}",
    callback=_power,
    help="Measure the power of N operators; auto: up to 80 with different utilization, if the node has a power sensor. "
    "[default: from the experiment, otherwise auto]",
)
@click.option(
    "--clocks",
    metavar="N",
    type=click.IntRange(1, MOST_CLOCKS),
    help="Also profile at N clocks of the device, then restore its clock. Requires permission on the node. "
    "[default: from the experiment, otherwise off]",
)
@click.option(
    "--restore-clocks",
    is_flag=True,
    help="Restore the clocks of this node that a killed profile of the workspace changed; run nothing.",
)
@sweep_options
@click.pass_context
def profile_command(
    context: click.Context,
    /,
    power: str | None,
    clocks: int | None,
    restore_clocks: bool,
    settings: tuple[str, ...],
    **_: Any,
) -> int:
    """Measure the cases of EXPERIMENT, and time each operator of their networks: forward, backward, optimizer.

    This is `hpcbench sweep` with `measure.profile`, one run per case and no retries. For more runs, use --set
    measure.repetitions=N. The profiler requires PyTorch, and inference or training in one process. hpcbench skips other
    cases, with a warning.
    """
    if restore_clocks:
        return _restore_clocks(context)
    from hpcbench.commands.run.sweep import sweep_command  # plans, and runs or submits

    del context.params["power"], context.params["clocks"], context.params["restore_clocks"]
    given = {"power": power, "clocks": clocks}
    chosen = [f"measure.profile.{name}={value}" for name, value in given.items() if value is not None]
    context.params["settings"] = (*_SETTINGS, *chosen, *settings)
    return int(sweep_command.invoke(context) or SUCCESS)


def _restore_clocks(context: click.Context) -> int:
    """Restore the clocks of this node, and print the result; return 1 if one could not be restored."""
    from hpcbench.doctor.this_machine import restore_clocks

    given = [each for each in context.command.params if _is_given(context, each) and each.name != "restore_clocks"]
    if given:
        name = max(given[0].opts, key=len) if isinstance(given[0], click.Option) else "EXPERIMENT"
        raise UserError(f"--restore-clocks cannot be used with {name}", hint="use one of them")
    found = restore_clocks(workspace_of(context).root)
    for sentence in found.failures:
        print_warning(sentence)
    if found.restored or not found.failures:
        out.print(f"{plural(found.restored, 'clock')} restored on {found.node}", soft_wrap=True)
    if found.in_use:
        print_warning(f"{plural(found.in_use, 'clock')} not restored: in use by an active profile")
    if found.other_nodes:
        named = f"other nodes have changed clocks: {', '.join(found.other_nodes)}"
        print_warning(f"{named}; to restore them: srun -w NODE hpcbench profile --restore-clocks")
    return FAILURE if found.failures else SUCCESS


def _is_given(context: click.Context, parameter: click.Parameter) -> bool:
    source = context.get_parameter_source(parameter.name or "")
    return source is ParameterSource.COMMANDLINE
