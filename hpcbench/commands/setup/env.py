"""hpcbench env: build, check and remove the environments of the frameworks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from click.shell_completion import CompletionItem
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import choose_site, site_option, workspace_of
from hpcbench.commands.shared.environment_list import environments_command
from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.doctor.environment_check import check_all, checked_as_data, print_check
from hpcbench.environments import build as building
from hpcbench.environments.build_commands import ProgramError
from hpcbench.environments.build_state import BUILT, OUTDATED, Built, read_marker, state_of
from hpcbench.environments.framework_names import framework_and_strategy
from hpcbench.environments.interpreters import choose_python, probe
from hpcbench.environments.listing import size
from hpcbench.environments.locations import EnvironmentDir, environment_dir
from hpcbench.environments.recipes import RecipeFile
from hpcbench.errors import Finding, UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, print_error
from hpcbench.util.exit_status import FAILURE, SUCCESS, examples
from hpcbench.util.signals import ended_like_ctrl_c

EPILOG = """\b
Examples:
  hpcbench env list                      list environments and their states
  hpcbench env build mxnet               build an environment, and check that it works
  hpcbench env build --all
  hpcbench env check pytorch --site my-cluster
  hpcbench env remove mxnet
"""


def complete_environment(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of recipes that begin with `incomplete`, for shell completion."""
    from pathlib import Path

    from hpcbench.environments.recipes import recipe_files
    from hpcbench.store.workspace import Workspace

    root = context.find_root().params.get("workspace") or "."
    names = recipe_files(Workspace(Path(root).absolute()))
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.group("env", epilog=EPILOG)
def env_command() -> None:
    """Build, check and remove the environments of the frameworks.

    hpcbench builds virtual environments from recipes: configs/environments/NAME.yaml of the workspace, or a shipped
    recipe. They are in envs/ of the workspace, or in the folder that HPCBENCH_ENVS names. A site file can name modules,
    a container or a Python instead.
    """


env_command.add_command(environments_command, "list")


@env_command.command(
    "build",
    short_help="Build environments from their recipes.",
    epilog=examples(
        "hpcbench env build pytorch",
        "hpcbench env build --all",
        "hpcbench env build jax --python /opt/python3.11/bin/python3",
        "hpcbench env build mxnet --force   rebuild an existing environment",
        failure="an environment could not be built, or does not work",
    ),
)
@click.argument("names", nargs=-1, metavar="NAME...", shell_complete=complete_environment)
@click.option("--all", "everything", is_flag=True, help="Build an environment from each recipe.")
@click.option(
    "--python",
    metavar="PYTHON",
    help="Build with this Python.  [default: that of hpcbench if it fits, otherwise the newest that fits]",
)
@click.option(
    "--force",
    is_flag=True,
    help="Remove and rebuild existing environments, and compile their packages again. Queued and running jobs that "
    "use them fail in the meantime.",
)
@click.option("--no-check", is_flag=True, help="Do not check the environment after the build.")
@click.pass_context
def build_command(
    context: click.Context, names: tuple[str, ...], everything: bool, python: str | None, force: bool, no_check: bool
) -> int:
    """Build each environment NAME from its recipe.

    Existing environments are not changed. An interrupted build continues where it stopped.
    """
    from hpcbench.environments.recipes import recipe_file, recipe_files

    workspace = workspace_of(context)
    if bool(names) == everything:
        raise click.UsageError("give either names or --all; hpcbench env list shows the names", context)
    files = list(recipe_files(workspace).values()) if everything else [recipe_file(workspace, name) for name in names]
    return build_all(workspace, files, python, force=force, check=not no_check)


@env_command.command(
    "check",
    short_help="Run a step in each environment.",
    epilog=examples(
        "hpcbench env check pytorch",
        "hpcbench env check my-image --site my-cluster --framework pytorch",
        failure="an environment does not work",
    ),
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@site_option()
@click.option(
    "--framework", metavar="FRAMEWORK", help="Check this framework.  [default: the framework with which NAME begins]"
)
@json_option()
@click.pass_context
def check_command(
    context: click.Context, names: tuple[str, ...], site: str | None, framework: str | None, as_json: bool
) -> int:
    """Run one training or inference step of a small network in each environment NAME.

    The step runs on this machine, with the job script of a sweep.

    NAME is an environment that hpcbench built, or one that the site file defines by modules, a container or a Python.
    """
    workspace = workspace_of(context)
    checked = []
    for each in check_all(workspace, choose_site(workspace, site, local=False), names, framework):
        checked.append(each)
        if not as_json:
            print_check(each)
    if as_json:
        click.echo(json.dumps(checked_as_data(checked), indent=1))
    return SUCCESS if all(each.works for each in checked) else FAILURE


@env_command.command("remove", short_help="Remove environments.", epilog=examples("hpcbench env remove mxnet"))
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_environment)
@click.pass_context
def remove_command(context: click.Context, names: tuple[str, ...]) -> int:
    """Remove each environment NAME. Compiled wheels stay in the cache, so rebuilding is quick."""
    from hpcbench.environments.build import remove as remove_one
    from hpcbench.environments.listing import size
    from hpcbench.environments.locations import environment_dir

    workspace = workspace_of(context)
    for name in names:
        freed = remove_one(environment_dir(workspace, name))
        err.print(f"removed {name} ({size(freed)})", markup=False)
    return 0


def build_all(workspace: Workspace, files: list[RecipeFile], python: str | None, *, force: bool, check: bool) -> int:
    """Build an environment from each recipe; return the exit status, 0 if all are built and work, otherwise 1.

    A failed build does not stop the others. Raise UserError for an invalid recipe or `python` before the first build.
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
            print_error(Finding(f"{file.name}: {error.what}", error.where, error.hint))
            for line in error.lines if isinstance(error, ProgramError) else ():
                err.print(f"  | {line}", markup=False, highlight=False, soft_wrap=True)
        failed += [] if works else [file.name]
    if failed and len(files) > 1:
        err.print(f"failed: {', '.join(failed)}", markup=False, soft_wrap=True)
    return int(bool(failed))


def _build(workspace: Workspace, name: str, recipe: Recipe, python: str | None, *, force: bool, check: bool) -> bool:
    directory = environment_dir(workspace, name)
    state = state_of(directory, recipe)
    if state == BUILT and not force:
        _check_same_python(directory, python)
        err.print(f"{name}: already built; --force rebuilds it", markup=False)
        return not check or _works(workspace, name)
    if state == OUTDATED:
        err.print(f"{name}: the recipe has changed; rebuilding", markup=False)
    chosen = choose_python(name, recipe, python)
    with _Steps(name).shown() as steps:
        built = building.build(directory, recipe, chosen, steps.begin, fresh=force)
    err.print(_summary(built, recipe.packages), soft_wrap=True)
    return not check or _works(workspace, name)


def _check_same_python(directory: EnvironmentDir, python: str | None) -> None:
    """Raise UserError if the environment was built with another Python than the user names."""
    built = read_marker(directory)
    if python and built and probe(python).version != built.python:
        what = f"'{directory.name}' is already built with Python {built.python}"
        raise UserError(what, where=f"--python {python}", hint="add --force to rebuild it")


def _works(workspace: Workspace, name: str) -> bool:
    """Return whether a built environment works. One without a framework, e.g. for commands, is not checked."""
    try:
        framework_and_strategy(name)
    except UserError as error:
        err.print(f"{name}: not checked: {error.what}", markup=False, soft_wrap=True)
        return True
    (checked,) = check_all(workspace, Site(name="here", scheduler="local"), (name,), None)
    print_check(checked)
    return checked.works


def _summary(built: Built, named: list[str]) -> str:
    versions = ", ".join(f"{name} {built.packages[name]}" for name in named if name in built.packages)
    took = f"{built.seconds:,.0f} s, {size(built.size_bytes)}, Python {built.python}"
    return f"[bold]{built.name}[/bold]: built in {took}: {escape(versions)}"


class _Steps:
    """The steps of one build: a line per completed step, and on a terminal the elapsed time of the current one."""

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
                message = f"{self.name} is incomplete; to continue, run: hpcbench env build {self.name}"
                err.print(message, markup=False, soft_wrap=True)
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
