"""Find the Python of a case: the one of the site, of the built environment, or the one that runs hpcbench."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Environment, Site
from hpcbench.core.run_spec import COMMAND
from hpcbench.environments.build_state import BUILT, INCOMPLETE, NOT_BUILT, OUTDATED, state_of
from hpcbench.environments.locations import EnvironmentDir, environment_dir
from hpcbench.environments.recipes import recipe_files
from hpcbench.errors import UserError, nearest
from hpcbench.store.workspace import Workspace
from hpcbench.util.package_data import shipped


class NotBuiltError(UserError):
    """An environment that has a recipe but is not built yet; `python` is the future path of its Python."""

    def __init__(self, what: str, there: EnvironmentDir, hint: str) -> None:
        super().__init__(what, where=str(there.folder), hint=hint)
        self.name = there.name
        self.python = str(there.python)


@dataclass(frozen=True)
class Resolved:
    """An environment for scripts: its definition in the site file, its interpreter, and a warning for the user."""

    environment: Environment
    python: str
    warning: str = ""


def resolve(site: Site, name: str, workspace: Workspace) -> Resolved:
    """Return the environment `name`. Raise UserError if it is not found, NotBuiltError if it is not built.

    The order is: the environment of the site; the one that `hpcbench env build` built; the Python that runs hpcbench,
    if it has the packages of the recipe.
    """
    environment = site.environment(name)
    if environment.python is not None:
        return Resolved(environment, _named_python(environment, name, workspace))
    there = environment_dir(workspace, name)
    if brings_python(environment):
        return Resolved(environment, "python3", _unused(environment, there))
    file = recipe_files(workspace).get(name)
    recipe = file.read() if file else None
    state = state_of(there, recipe)
    if state in (BUILT, OUTDATED):
        return Resolved(environment, str(there.python), _outdated(name) if state == OUTDATED else "")
    # The environment of a command only runs the node code.
    ours_will_do = is_beside_hpcbench(recipe) if recipe else name == COMMAND or name in site.environments
    if state == INCOMPLETE:
        raise _half_built(there, ours_will_do)
    if ours_will_do:
        return Resolved(environment, sys.executable)
    raise _not_there(name, there, recipe, site, workspace)


def check_still_there(site: Site, name: str, python: str, workspace: Workspace) -> None:
    """Raise UserError if `python`, a result of `resolve`, no longer exists as far as this machine can check."""
    there = environment_dir(workspace, name)
    if python == str(there.python):
        state = state_of(there, None)
        if state == INCOMPLETE:
            raise _half_built(there, False)
        if state == NOT_BUILT:
            raise UserError(
                f"the environment '{name}' no longer exists",
                where=str(there.folder),
                hint=f"rebuild it: hpcbench env build {name}; or start a new sweep",
            )
    elif not brings_python(site.environment(name)) and shutil.which(python) is None:
        what = f"the Python of environment '{name}' no longer exists"
        raise UserError(what, where=python, hint="restore it, or start a new sweep")


def brings_python(environment: Environment) -> bool:
    """Return whether modules, shell lines or a container provide the Python on the node."""
    return bool(environment.modules or environment.setup or environment.container)


def is_beside_hpcbench(recipe: Recipe) -> bool:
    """Return whether the Python that runs hpcbench has the modules that a recipe must import."""
    return all(importlib.util.find_spec(module.partition(".")[0]) for module in recipe.imports)


def _unused(environment: Environment, there: EnvironmentDir) -> str:
    if environment.container or state_of(there, None) != BUILT:
        return ""
    return (
        f"the environment '{there.name}' that was built is not used: the site file gives modules or setup for it;"
        f" to use both, set there: python: {there.python}"
    )


def _outdated(name: str) -> str:
    return f"the recipe of '{name}' has changed since it was built; to rebuild it: hpcbench env build {name}"


def _half_built(there: EnvironmentDir, dispensable: bool) -> NotBuiltError:
    hint = f"build it: hpcbench env build {there.name}"
    if dispensable:
        hint += f"; or remove it: hpcbench env remove {there.name}"
    return NotBuiltError(f"the environment '{there.name}' is incomplete", there, hint)


def naming_hint(site: Site, what: str, workspace: Workspace) -> str:
    """Return the hint to name `what` in the site file, with its path; a shipped file has to be copied first."""
    if site.file is None:
        return f"or name {what} in the site file, key `environments` (hpcbench init writes one)"
    folder, own = Path(site.file).absolute().parent, workspace.root / "configs" / "sites"
    if folder == shipped("configs") / "sites" and folder != own:
        return f"or name {what} in a copy of {site.file} in {own}/, key `environments`"
    return f"or name {what} in {site.file}, key `environments`"


def _not_there(name: str, there: EnvironmentDir, recipe: Recipe | None, site: Site, workspace: Workspace) -> UserError:
    if recipe is None:
        known = {*site.environments, *recipe_files(workspace)}
        what = f"environment '{name}' not found: neither the site '{site.name}' nor a recipe defines it"
        return UserError(
            what, hint=f"{nearest(name, known)}\nto use your own, add it to `environments:` in the site file"
        )
    hint = f"build it: hpcbench env build {name}; {naming_hint(site, 'its module, container or Python', workspace)}"
    return NotBuiltError(f"the environment '{name}' is not built", there, hint)


def _named_python(environment: Environment, name: str, workspace: Workspace) -> str:
    """Return the interpreter in the site file. Raise UserError if this machine can check it and it does not exist."""
    python = environment.python or ""
    if "/" in python and not environment.container:
        python = os.path.normpath(workspace.root / _expanded(python))
    if not brings_python(environment) and shutil.which(python) is None:
        raise UserError(
            f"the Python of environment '{name}' does not exist: {python}",
            hint="correct `environments` in the site file, or create that Python",
        )
    return python


def _expanded(path: str) -> Path:
    """Return a path with `~` expanded, or unchanged if the user does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
