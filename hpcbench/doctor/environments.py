"""Check that each environment is built, that its Python starts, and that it has its framework."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.core import status
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult, Progress
from hpcbench.core.run_spec import COMMAND
from hpcbench.doctor.trial import trial
from hpcbench.environments.build_state import INCOMPLETE, NOT_BUILT, OUTDATED
from hpcbench.environments.framework_names import framework_and_strategy
from hpcbench.environments.listing import BROKEN, Row, rows
from hpcbench.environments.recipes import recipe_files
from hpcbench.environments.resolve import resolve
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace

TIME = "00:02:00"
_MARK = "hpcbench-doctor "
# Finds modules without importing them, which takes seconds. A command is a template: it must not have adjacent braces.
_PROGRAM = f"""
import json, platform, sys
from importlib import metadata, util
def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
modules, packages = json.loads(sys.argv[1])
found = dict(python=platform.python_version())
found["missing"] = [module for module in modules if util.find_spec(module) is None]
found["versions"] = [(package, version(package)) for package in packages if version(package)]
print({_MARK!r} + json.dumps(found))
"""


def check_environments(workspace: Workspace, site: Site, progress: Progress) -> Iterator[CheckResult]:
    """Yield the result of starting each environment on this machine, with the script of a sweep; then the others.

    Raise UserError or OSError if the script cannot be written.
    """
    local = site.model_copy(update={"scheduler": "local"})
    not_built, available = [], 0
    for row in rows(workspace, site):
        if row.state == NOT_BUILT:
            not_built.append(row.name)
            continue
        available += row.name != COMMAND
        progress("environments", row.name)
        yield _check(workspace, local, row)
    if not available:
        means = "Sweeps can only run `framework: command`."
        action = "Run `hpcbench env build pytorch`, or name modules, a container or a Python in the site file."
        yield CheckResult("built", WARNING, "none", means, action)
    elif not_built:
        yield CheckResult("not built", OK, f"{', '.join(not_built)}; `hpcbench env build NAME` builds one")


def _check(workspace: Workspace, site: Site, row: Row) -> CheckResult:
    cases = "Every case in it fails, unless the nodes have what this machine lacks."
    if row.state == BROKEN:
        return CheckResult(row.name, PROBLEM, row.problem or BROKEN, "hpcbench cannot build it.", "Correct its recipe.")
    if row.state == INCOMPLETE:
        action = f"Run `hpcbench env build {row.name}` to complete it, or `hpcbench env remove {row.name}`."
        return CheckResult(row.name, WARNING, "incomplete", "Sweeps refuse to use it.", action)
    container = site.environment(row.name).container
    if container and container.runtime == "pyxis":
        means = "Whether it works is unknown."
        return CheckResult(
            row.name, NOTE, "a container of pyxis, which only srun can start", means, "Run a short sweep with it."
        )
    recipe = _recipe(workspace, row.name)
    try:
        found = _start(workspace, site, row.name, recipe)
    except UserError as error:
        return CheckResult(row.name, PROBLEM, error.what, cases, error.hint)
    if isinstance(found, str):
        return CheckResult(
            row.name, PROBLEM, f"does not start: {found}", cases, f"Run `hpcbench env check {row.name}` for details."
        )
    versions = ", ".join([f"Python {found['python']}", *(" ".join(pair) for pair in found["versions"])])
    if found["missing"]:
        action = (
            f"Install it there, or correct `environments` in the site file; then run `hpcbench env check {row.name}`."
        )
        return CheckResult(
            row.name, PROBLEM, f"{versions}; missing module {', '.join(found['missing'])}", cases, action
        )
    if row.state == OUTDATED:
        means = "It was built from an earlier version of its recipe."
        return CheckResult(
            row.name, NOTE, f"{versions}; outdated", means, f"Run `hpcbench env build {row.name}` to rebuild it."
        )
    return CheckResult(row.name, OK, f"{versions}; {row.state}")


def _recipe(workspace: Workspace, name: str) -> Recipe | None:
    """Return the recipe of an environment; for one of the site, that of the framework in its name; or None."""
    files = recipe_files(workspace)
    try:
        framework, _ = framework_and_strategy(name)
        file = files.get(name) or files.get(framework)
        return file.read() if file else None
    except UserError:
        return None


def _start(workspace: Workspace, site: Site, name: str, recipe: Recipe | None) -> dict[str, Any] | str:
    """Return what the Python of an environment prints, or why it does not start. Raise UserError if it is missing."""
    modules = [module.partition(".")[0] for module in recipe.imports] if recipe else []
    packages = recipe.packages if recipe else []
    words = [resolve(site, name, workspace).python, "-c", _PROGRAM, json.dumps([modules, packages])]
    experiment = {
        "name": "doctor",
        "parameters": {"framework": COMMAND, "command": shlex.join(words), "environment": name},
        "measure": {"repetitions": 1, "retries": 0},
        "slurm": {"time": TIME},
    }
    record, printed = trial(workspace, site, experiment)
    lines = [line for line in printed.splitlines() if line.startswith(_MARK)]
    if record.status != status.COMPLETED or not lines:
        return record.error_message or record.status
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(_MARK))
    return found
