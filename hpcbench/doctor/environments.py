"""What doctor says of the environments: is each built, does its Python start, and has it the framework."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

from hpcbench.config.recipe import Recipe
from hpcbench.config.site import Site
from hpcbench.core import status
from hpcbench.core.finding import NOTE, OK, PROBLEM, WARNING, Finding, Progress
from hpcbench.core.run_spec import COMMAND
from hpcbench.doctor.environment_check import framework_and_strategy
from hpcbench.doctor.trial import trial
from hpcbench.environments.build_state import INCOMPLETE, NOT_BUILT, OUTDATED
from hpcbench.environments.listing import BROKEN, Row, rows
from hpcbench.environments.recipes import recipe_files
from hpcbench.environments.resolve import resolve
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace

TIME = "00:02:00"
_MARK = "hpcbench-doctor "
# Looks for modules without importing them, which takes seconds. A command is a template: no two braces side by side.
_LOOK = f"""
import json, platform, sys
from importlib import metadata, util
def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
modules, packages = json.loads(sys.argv[1])
told = dict(python=platform.python_version())
told["missing"] = [module for module in modules if util.find_spec(module) is None]
told["versions"] = [(package, version(package)) for package in packages if version(package)]
print({_MARK!r} + json.dumps(told))
"""


def look(workspace: Workspace, site: Site, progress: Progress) -> Iterator[Finding]:
    """Each environment that is there, tried on this machine by the same script as a sweep would use; then the rest."""
    local = site.model_copy(update={"scheduler": "local"})
    missing, there = [], 0
    for row in rows(workspace, site):
        if row.state == NOT_BUILT:
            missing.append(row.name)
            continue
        there += row.name != COMMAND
        progress("environments", row.name)
        yield _judged(workspace, local, row)
    if not there:
        means = "No framework can run; framework: command can."
        mend = "hpcbench env build pytorch; or name modules, a container or a Python in the site file."
        yield Finding("built", WARNING, "none", means, mend)
    elif missing:
        yield Finding("not built", OK, f"{', '.join(missing)}; `hpcbench env build NAME` builds one")


def _judged(workspace: Workspace, site: Site, row: Row) -> Finding:
    cases = "Every case in it fails, unless the nodes have what is missing here."
    if row.state == BROKEN:
        return Finding(row.name, PROBLEM, row.problem or BROKEN, "It cannot be built.", "Correct its recipe.")
    if row.state == INCOMPLETE:
        mend = f"hpcbench env build {row.name} goes on; hpcbench env remove {row.name} ends it."
        return Finding(row.name, WARNING, "only half built", "Sweeps refuse to use it.", mend)
    container = site.environment(row.name).container
    if container and container.runtime == "pyxis":
        means = "Whether it works is not known here."
        return Finding(
            row.name, NOTE, "a container of pyxis, which only srun starts", means, "Run a short sweep with it."
        )
    recipe = _recipe(workspace, row.name)
    try:
        found = _tried(workspace, site, row.name, recipe)
    except UserError as error:
        return Finding(row.name, PROBLEM, error.what, cases, error.hint)
    if isinstance(found, str):
        return Finding(
            row.name, PROBLEM, f"does not start: {found}", cases, f"hpcbench env check {row.name} says more."
        )
    versions = ", ".join([f"Python {found['python']}", *(" ".join(pair) for pair in found["versions"])])
    if found["missing"]:
        mend = f"Install it there, or correct `environments` in the site file; then hpcbench env check {row.name}"
        return Finding(row.name, PROBLEM, f"{versions}; no module {', '.join(found['missing'])}", cases, mend)
    if row.state == OUTDATED:
        means = "It works as its recipe was when it was built."
        return Finding(row.name, NOTE, f"{versions}; outdated", means, f"hpcbench env build {row.name} builds it anew.")
    return Finding(row.name, OK, f"{versions}; {row.state}")


def _recipe(workspace: Workspace, name: str) -> Recipe | None:
    """That of the environment, or, for one of the site, that of the framework which its name tells."""
    files = recipe_files(workspace)
    try:
        framework, _ = framework_and_strategy(name)
        file = files.get(name) or files.get(framework)
        return file.read() if file else None
    except UserError:
        return None


def _tried(workspace: Workspace, site: Site, name: str, recipe: Recipe | None) -> dict[str, Any] | str:
    """What the Python of an environment tells, or why it does not start. Raises UserError where it is not there."""
    modules = [module.partition(".")[0] for module in recipe.imports] if recipe else []
    packages = recipe.packages if recipe else []
    words = [resolve(site, name, workspace).python, "-c", _LOOK, json.dumps([modules, packages])]
    experiment = {
        "name": "doctor",
        "parameters": {"framework": COMMAND, "command": shlex.join(words), "environment": name},
        "measure": {"repetitions": 1, "retries": 0},
        "slurm": {"time": TIME},
    }
    record, printed = trial(workspace, site, experiment)
    told = [line for line in printed.splitlines() if line.startswith(_MARK)]
    if record.status != status.COMPLETED or not told:
        return record.error_message or record.status
    found: dict[str, Any] = json.loads(told[-1].removeprefix(_MARK))
    return found
