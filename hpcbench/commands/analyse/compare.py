"""hpcbench compare: compare each case of two sweeps."""

from __future__ import annotations

import click

from hpcbench.commands.shared.context import archives_of_anybody, open_sweep, sweep_argument, workspace_of
from hpcbench.commands.shared.verdicts import Shown, compared, how_to_repeat, show_verdicts, verdict_options
from hpcbench.errors import UserError
from hpcbench.report.load.records import latest_records
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.gc_pause import without_garbage_collection

EPILOG = """\b
Examples:
  hpcbench compare main latest                       what changed since the sweep `main`
  hpcbench compare main latest --margin 2%           differences up to 2 % count as equal
  hpcbench compare main latest --on-inconclusive pass --junit compare.xml
  hpcbench compare main latest --markdown            for a comment on a pull request
  hpcbench compare main latest -o compare.md -o compare.json
  hpcbench compare --json main latest | jq .verdicts

A verdict of faster or slower requires at least five runs without interference of the case in each sweep.
""" + exit_statuses(
    "a case is slower or worse, or was measured only in BASE",
    "inconclusive: no case is slower or worse, but at least one is inconclusive or not compared",
)


@click.command("compare", epilog=EPILOG)
@sweep_argument("base")
@sweep_argument("new")
@verdict_options
@click.pass_context
@without_garbage_collection()
@archives_of_anybody()
def compare_command(
    context: click.Context,
    base: str,
    new: str,
    margin: float,
    inconclusive: int,
    top: int,
    as_markdown: bool,
    as_json: bool,
    junit_file: str | None,
    outputs: tuple[tuple[str, str], ...],
) -> int:
    """Compare each case of NEW with the same case of BASE: faster, slower, same or inconclusive."""
    shown = Shown.of(top, as_json, as_markdown, junit_file, outputs)
    workspace = workspace_of(context)
    old, now = (open_sweep(context, workspace, name) for name in (base, new))
    if old.name == now.name and old.archive == now.archive:
        raise UserError(f"BASE and NEW are the same sweep, {old.name}", hint="name two different sweeps")
    again = how_to_repeat(old), how_to_repeat(now)
    return show_verdicts(compared(latest_records(old), latest_records(now), margin, again), shown, inconclusive)
