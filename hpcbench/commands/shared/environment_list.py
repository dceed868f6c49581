"""The command `env list`, which is also `list environments`."""

from __future__ import annotations

import click

from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import choose_site, site_option, workspace_of
from hpcbench.errors import UserError
from hpcbench.util.console import out, print_warning
from hpcbench.util.exit_status import examples


@click.command(
    "environments",
    short_help="List environments with their states.",
    epilog=examples("hpcbench env list", "hpcbench list environments --json   the same list, as JSON"),
)
@site_option()
@json_option()
@click.pass_context
def environments_command(context: click.Context, site: str | None, as_json: bool) -> int:
    """List environments with their states: those of the site, those with a recipe, and built ones without a recipe.

    \b
    built             complete, from the current recipe
    outdated          built from an earlier version of its recipe; sweeps use it with a warning
    incomplete        the build was interrupted; `hpcbench env build` continues it
    not built         a recipe exists, but no environment
    hpcbench Python   not built; cases run in the Python of hpcbench, which has the framework
    from the site     the site file names modules, a container or a Python
    bad recipe        the recipe or its name is not valid
    """
    from hpcbench.environments.listing import as_data, as_table, rows

    workspace = workspace_of(context)
    try:
        chosen = choose_site(workspace, site, local=False)
    except UserError as error:
        if site:
            raise
        print_warning(f"the environments of the site are left out: {error.what}")
        chosen = None
    found = rows(workspace, chosen)
    if as_json:
        click.echo(as_data(found))
    else:
        out.print(as_table(found))
    return 0
