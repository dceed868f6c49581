"""What env build does: one environment after another, with progress, each checked at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from hpcbench.commands.env_check import check_all, framework_and_strategy
from hpcbench.commands.env_list import size
from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.environments import build as building
from hpcbench.environments.places import Place, place
from hpcbench.environments.programs import ProgramError
from hpcbench.environments.pythons import choose_python, probe
from hpcbench.environments.recipes import RecipeFile
from hpcbench.environments.state import BUILT, OUTDATED, Built, read_marker, state_of
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err
from hpcbench.util.signals import ended_like_ctrl_c


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
    there = place(workspace, name)
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


def _check_same_python(there: Place, python: str | None) -> None:
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
