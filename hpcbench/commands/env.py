"""hpcbench env: the environments that frameworks run in."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from hpcbench.commands.common import choose_site, workspace_of
from hpcbench.errors import UserError
from hpcbench.util.console import err, out

EPILOG = """\b
Examples:
  hpcbench env list                      what there is, and what is built
  hpcbench env build mxnet               build it, and check that it works
  hpcbench env build --all
  hpcbench env check pytorch --site my-cluster
  hpcbench env remove mxnet
"""
FAILED = """\b
Exit status: 0 all is well; 1 an environment could not be built, or does not work; 2 a mistake; 130 interrupted.
"""


def complete_environment(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from pathlib import Path

    from hpcbench.environments.recipes import recipe_files
    from hpcbench.store.workspace import Workspace

    root = context.find_root().params.get("workspace") or "."
    names = recipe_files(Workspace(Path(root).absolute()))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.group(epilog=EPILOG, short_help="Build and check the environments that frameworks run in.")
def env() -> None:
    """Build, check and remove the environments that frameworks run in.

    A recipe says how one is built: configs/environments/NAME.yaml of the workspace, or a shipped one. They are virtual
    environments under envs/ of the workspace, or in the folder that HPCBENCH_ENVS names. A site may name modules, a
    container or a Python of its own instead.
    """


@env.command("list", short_help="What there is, and what is built.")
@click.option("--site", help="Site file, or the name of one.  [default: as in hpcbench sweep]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_(context: click.Context, site: str | None, as_json: bool) -> int:
    """One line per environment: of the site, of a recipe, or built without one.

    \b
    built        whole, by the recipe as it is now
    outdated     built by an earlier version of its recipe; sweeps use it, and say so
    incomplete   a build was interrupted; building goes on where it was
    not built    nothing is there
    beside hpcbench   not built: cases run in the Python that runs hpcbench, which has the framework
    from the site     the site file says which modules, container or Python to use
    """
    from hpcbench.commands.env_list import as_data, as_table, rows

    workspace = workspace_of(context)
    try:
        chosen = choose_site(workspace, site, local=False)
    except UserError as error:
        if site:
            raise
        err.print(f"without what the site names: {error}", markup=False)
        chosen = None
    found = rows(workspace, chosen)
    if as_json:
        click.echo(as_data(found))
    else:
        out.print(as_table(found))
    return 0


@env.command(epilog=FAILED, short_help="Build environments, and check each.")
@click.argument("names", nargs=-1, metavar="NAME...", shell_complete=complete_environment)
@click.option("--all", "everything", is_flag=True, help="Every recipe.")
@click.option("--python", help="Make it with this Python.  [default: the first that fits: hpcbench's own, the newest]")
@click.option(
    "--force",
    is_flag=True,
    help="Remove what is built already, and build and compile it anew. Jobs that wait or run lose it meanwhile.",
)
@click.option("--no-check", is_flag=True, help="Do not run a step of training at the end.")
@click.pass_context
def build(
    context: click.Context, names: tuple[str, ...], everything: bool, python: str | None, force: bool, no_check: bool
) -> int:
    """Build each NAME by its recipe. What is built stays as it is, and an interrupted build goes on where it was."""
    from hpcbench.commands.env_build import build_all
    from hpcbench.environments.recipes import recipe_file, recipe_files

    workspace = workspace_of(context)
    if bool(names) == everything:
        raise click.UsageError("name environments, or give --all: hpcbench env list shows which there are", context)
    files = list(recipe_files(workspace).values()) if everything else [recipe_file(workspace, name) for name in names]
    return build_all(workspace, files, python, force=force, check=not no_check)


@env.command(epilog=FAILED, short_help="Run one tiny step of training in environments.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@click.option("--site", help="Site file, or the name of one.  [default: as in hpcbench sweep]")
@click.option("--framework", help="The framework to try.  [default: the one whose name NAME begins with]")
@click.pass_context
def check(context: click.Context, names: tuple[str, ...], site: str | None, framework: str | None) -> int:
    """Run one tiny step of training in each NAME, on this machine, by the same script as a sweep would.

    Works on environments that the site names (modules, containers) as well as on those that are built here.
    """
    from hpcbench.commands.env_check import check_all

    workspace = workspace_of(context)
    return check_all(workspace, choose_site(workspace, site, local=False), names, framework)


@env.command(short_help="Remove environments that were built here.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@click.pass_context
def remove(context: click.Context, names: tuple[str, ...]) -> int:
    """Remove each NAME. Compiled wheels stay in the cache, so that building it again is quick."""
    from hpcbench.commands.env_list import size
    from hpcbench.environments.build import remove as remove_one
    from hpcbench.environments.places import place

    workspace = workspace_of(context)
    for name in names:
        freed = remove_one(place(workspace, name))
        err.print(f"removed {name}: {size(freed)} free again", markup=False)
    return 0
