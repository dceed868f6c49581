"""hpcbench env: the environments that frameworks run in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.shell_completion import CompletionItem
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from hpcbench.commands.shared.context import choose_site, workspace_of
from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.doctor.environment_check import check_all, framework_and_strategy
from hpcbench.environments import build as building
from hpcbench.environments.build_commands import ProgramError
from hpcbench.environments.build_state import BUILT, OUTDATED, Built, read_marker, state_of
from hpcbench.environments.interpreters import choose_python, probe
from hpcbench.environments.listing import size
from hpcbench.environments.locations import EnvironmentDir, environment_dir
from hpcbench.environments.recipes import RecipeFile
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, out
from hpcbench.util.signals import ended_like_ctrl_c

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


@click.group("env", epilog=EPILOG, short_help="Build and check the environments that frameworks run in.")
def env_command() -> None:
    """Build, check and remove the environments that frameworks run in.

    A recipe says how one is built: configs/environments/NAME.yaml of the workspace, or a shipped one. They are virtual
    environments under envs/ of the workspace, or in the folder that HPCBENCH_ENVS names. A site may name modules, a
    container or a Python of its own instead.
    """


@env_command.command("list", short_help="What there is, and what is built.")
@click.option("--site", help="Site file, or the name of one.  [default: as in hpcbench sweep]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def list_command(context: click.Context, site: str | None, as_json: bool) -> int:
    """One line per environment: of the site, of a recipe, or built without one.

    \b
    built        whole, by the recipe as it is now
    outdated     built by an earlier version of its recipe; sweeps use it, and say so
    incomplete   a build was interrupted; building goes on where it was
    not built    nothing is there
    beside hpcbench   not built: cases run in the Python that runs hpcbench, which has the framework
    from the site     the site file says which modules, container or Python to use
    """
    from hpcbench.environments.listing import as_data, as_table, rows

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


@env_command.command("build", epilog=FAILED, short_help="Build environments, and check each.")
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
def build_command(
    context: click.Context, names: tuple[str, ...], everything: bool, python: str | None, force: bool, no_check: bool
) -> int:
    """Build each NAME by its recipe. What is built stays as it is, and an interrupted build goes on where it was."""
    from hpcbench.environments.recipes import recipe_file, recipe_files

    workspace = workspace_of(context)
    if bool(names) == everything:
        raise click.UsageError("name environments, or give --all: hpcbench env list shows which there are", context)
    files = list(recipe_files(workspace).values()) if everything else [recipe_file(workspace, name) for name in names]
    return build_all(workspace, files, python, force=force, check=not no_check)


@env_command.command("check", epilog=FAILED, short_help="Run one tiny step of training in environments.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@click.option("--site", help="Site file, or the name of one.  [default: as in hpcbench sweep]")
@click.option("--framework", help="The framework to try.  [default: the one whose name NAME begins with]")
@click.pass_context
def check_command(context: click.Context, names: tuple[str, ...], site: str | None, framework: str | None) -> int:
    """Run one tiny step of training in each NAME, on this machine, by the same script as a sweep would.

    Works on environments that the site names (modules, containers) as well as on those that are built here.
    """
    from hpcbench.doctor.environment_check import check_all

    workspace = workspace_of(context)
    return check_all(workspace, choose_site(workspace, site, local=False), names, framework)


@env_command.command("remove", short_help="Remove environments that were built here.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@click.pass_context
def remove_command(context: click.Context, names: tuple[str, ...]) -> int:
    """Remove each NAME. Compiled wheels stay in the cache, so that building it again is quick."""
    from hpcbench.environments.build import remove as remove_one
    from hpcbench.environments.listing import size
    from hpcbench.environments.locations import environment_dir

    workspace = workspace_of(context)
    for name in names:
        freed = remove_one(environment_dir(workspace, name))
        err.print(f"removed {name}: {size(freed)} free again", markup=False)
    return 0


def build_all(workspace: Workspace, files: list[RecipeFile], python: str | None, *, force: bool, check: bool) -> int:
    """Build these, whatever becomes of the others. Returns 0 where all are built and work, else 1.

    Raises UserError for a mistake in a recipe, or in `python`, before anything is built.
    """
    recipes = [(file, file.read()) for file in files]
    if python:
        probe(python)
    failed = []
    for file, recipe in recipes:
        try:
            works = _build(workspace, file.name, recipe, python, force=force, check=check)
        except UserError as error:
            works = False
            err.print(f"{file.name}: {error}", markup=False, style="red", soft_wrap=True)
            for line in error.lines if isinstance(error, ProgramError) else ():
                err.print(f"  | {line}", markup=False, highlight=False, soft_wrap=True)
        failed += [] if works else [file.name]
    if failed and len(files) > 1:
        err.print(f"not built, or not working: {', '.join(failed)}", markup=False, soft_wrap=True)
    return int(bool(failed))


def _build(workspace: Workspace, name: str, recipe: Recipe, python: str | None, *, force: bool, check: bool) -> bool:
    there = environment_dir(workspace, name)
    state = state_of(there, recipe)
    if state == BUILT and not force:
        _check_same_python(there, python)
        err.print(f"{name}: is built; --force builds it anew", markup=False)
        return not check or _works(workspace, name)
    if state == OUTDATED:
        err.print(f"{name}: its recipe has changed since it was built; building it anew", markup=False)
    chosen = choose_python(name, recipe, python)
    with _Steps(name).shown() as steps:
        built = building.build(there, recipe, chosen, steps.begin, fresh=force)
    err.print(_summary(built, recipe.packages), soft_wrap=True)
    return not check or _works(workspace, name)


def _check_same_python(there: EnvironmentDir, python: str | None) -> None:
    """Raises UserError where the user names another Python than the environment was made with."""
    built = read_marker(there)
    if python and built and probe(python).version != built.python:
        what = f"'{there.name}' is built, with Python {built.python}"
        raise UserError(what, where=f"--python {python}", hint="--force builds it anew")


def _works(workspace: Workspace, name: str) -> bool:
    """Whether what was just built trains; an environment for no framework, one of command say, is not tried."""
    try:
        framework_and_strategy(name)
    except UserError as error:
        err.print(f"{name}: not checked, because {error.what}", markup=False, soft_wrap=True)
        return True
    return check_all(workspace, Site(name="here", scheduler="local"), (name,), None) == 0


def _summary(built: Built, named: list[str]) -> str:
    versions = ", ".join(f"{name} {built.packages[name]}" for name in named if name in built.packages)
    took = f"{built.seconds:,.0f} s, {size(built.size_bytes)}, Python {built.python}"
    return f"[bold]{built.name}[/bold]: built in {took}: {escape(versions)}"


class _Steps:
    """The steps of one build: a line for each that is done, and on a terminal a clock beside the one under way."""

    def __init__(self, name: str) -> None:
        self.name = name
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self.bar = Progress(*columns, console=err, transient=True, refresh_per_second=4, disable=not err.is_terminal)
        self.task: TaskID | None = None
        self.started = 0.0
        self.line = ""

    @contextmanager
    def shown(self) -> Iterator[_Steps]:
        with ended_like_ctrl_c(), self.bar:
            try:
                yield self
            except KeyboardInterrupt:
                told = f"{self.name} cannot be used until it is built: hpcbench env build {self.name} goes on from here"
                err.print(told, markup=False, soft_wrap=True)
                raise
            self._end()

    def begin(self, number: int, steps: int, what: str) -> None:
        self._end()
        self.line, self.started = f"{self.name} {number}/{steps}: {what}", time.monotonic()
        if err.is_terminal:
            self.task = self.bar.add_task(self.line, total=None)
        else:
            err.print(self.line, markup=False, soft_wrap=True)

    def _end(self) -> None:
        if self.task is not None:
            self.bar.remove_task(self.task)
            self.task = None
            err.print(f"{self.line} ({time.monotonic() - self.started:,.0f} s)", markup=False, soft_wrap=True)
