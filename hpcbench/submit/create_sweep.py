"""Create the folder of a sweep: it is complete before the first job is submitted, and all later commands read it."""

from __future__ import annotations

import datetime
import errno
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.site import Site
from hpcbench.config.yaml_document import Document
from hpcbench.environments.packages import ask, keep
from hpcbench.environments.resolve import NotBuiltError, Resolved, naming_hint, resolve
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan
from hpcbench.store import ownership, packs
from hpcbench.store.predictions import SweepPredictions, to_text
from hpcbench.store.provenance import input_files, provenance_files
from hpcbench.store.provenance.git import git_state
from hpcbench.store.provenance.sweep_options import SweepOptions
from hpcbench.store.sweep import SCHEMA, Sweep
from hpcbench.store.workspace import DESCRIPTION, PREDICTIONS, SweepPaths, Workspace
from hpcbench.submit.script import ScriptWriter
from hpcbench.submit.template import OF_FOLLOW_ON, Template
from hpcbench.submit.zipapp import node_zipapp

_AS_WRITTEN = SweepOptions()


def create(
    workspace: Workspace,
    paths: SweepPaths,
    plan: Plan,
    document: Document,
    asked: SweepOptions = _AS_WRITTEN,
    template: Path | None = None,
    *,
    ask_packages: bool = True,
    tuning: dict[str, Any] | None = None,
    cluster: str | None = None,
    predictions: SweepPredictions | None = None,
) -> Sweep:
    """Create the folder of a new sweep, with its `predictions` if there are any, and return the sweep.

    `document` is the experiment, whose text is as written. `template` replaces the script template of the workspace and
    the shipped one. With `ask_packages`, start the Python of each environment to list its packages; otherwise the first
    run in each lists them. `cluster` is the Slurm cluster to which the sweep belongs, or None if Slurm does not
    respond. The sweep of a search (`tuning`) has no runs yet: add_run() adds them. The folder is created under another
    name and renamed, so a folder with its final name is always complete. Raise UserError if a Python is missing or the
    disk is full.
    """
    environments = resolved(plan, workspace)
    pythons = {name: found.python for name, found in environments.items()}
    writer = ScriptWriter(workspace, paths, plan.site, plan.experiment, template)
    description = {
        **_description(plan, writer, pythons, document),
        **asked.as_json(),
        "tuning": tuning,
        "cluster": cluster,
    }
    unfinished = paths.jobs.parent
    try:
        unfinished.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{paths.name}.", dir=unfinished))
        unfinished.chmod(ownership.mode(plan.experiment.shared))
        _write(unfinished, writer, plan, pythons, document)
        if tuning is None:
            _write_runs(unfinished, plan)
        follow_on = Template.find(workspace, OF_FOLLOW_ON).file if plan.follow_on else None
        provenance_files.write(unfinished, workspace.root, plan.site, writer.template.file, follow_on)
        _write_description(unfinished, description, plan, predictions)
        paths.results.parent.mkdir(parents=True, exist_ok=True)
        ownership.check(paths, shared=False)  # a new sweep has no other users yet
        paths.results.mkdir(mode=ownership.mode(plan.experiment.shared), exist_ok=True)
        if ask_packages:
            keep(paths, ask(environments))
        unfinished.rename(paths.jobs)
    except OSError as error:
        raise _not_written(paths, error) from error
    finally:
        if unfinished != paths.jobs.parent:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Sweep(paths, description)


def _not_written(paths: SweepPaths, error: OSError) -> UserError:
    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another hpcbench was faster
        return UserError(
            f"sweep '{paths.name}' already exists",
            where=str(paths.jobs),
            hint="choose another name; nothing was submitted",
        )
    where = str(error.filename or paths.jobs)
    return UserError(f"the sweep cannot be written: {error.strerror}", where=where, hint="nothing was submitted")


def _write(folder: Path, writer: ScriptWriter, plan: Plan, pythons: dict[str, str], document: Document) -> None:
    (folder / "node.pyz").write_bytes(node_zipapp())
    (folder / "experiment.yaml").write_text(document.text, encoding="utf-8")
    input_files.write(folder, document.csv_files)
    for job in plan.jobs:
        (folder / f"{job.name}.sh").write_text(writer.render(job, pythons[job.resources.environment]), encoding="utf-8")
        (folder / f"{job.name}.jsonl").touch()


def _write_description(
    folder: Path, description: dict[str, Any], plan: Plan, predictions: SweepPredictions | None
) -> None:
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    if predictions is not None:
        (folder / PREDICTIONS).write_text(to_text(predictions), encoding="utf-8")
    for job in plan.jobs:
        (folder / "logs" / job.name).mkdir(parents=True)


def _write_runs(folder: Path, plan: Plan) -> None:
    measure = plan.experiment.measure.model_dump()
    for job in plan.jobs:
        owns_nodes = plan.site.scheduler == "slurm" and job.resources.slurm.exclusive and job.width == 1
        with (folder / f"{job.name}.jsonl").open("w", encoding="utf-8") as file:
            for run in job.runs:
                planned = run.case.planned_run(
                    run.repetition, run.order, measure, is_first=run.is_first, owns_nodes=owns_nodes
                )
                file.write(planned.as_line() + "\n")
        packs.write(folder / "packs" / job.name, job.packed_elements)


def resolved(plan: Plan, workspace: Workspace, *, only_shown: bool = False) -> dict[str, Resolved]:
    """Return the environments of a plan by name. Raise UserError if one is missing or not built.

    With `only_shown`, an environment that is not built has a warning instead.
    """
    found, missing = {}, []
    for name in sorted({job.resources.environment for job in plan.jobs}):
        try:
            found[name] = resolve(plan.site, name, workspace)
        except NotBuiltError as error:
            missing.append(error)
            found[name] = Resolved(plan.site.environment(name), error.python, f"{error.what}; {error.hint}")
    if missing and not only_shown:
        raise _not_built(missing, plan.site, workspace)
    return found


def _not_built(missing: list[NotBuiltError], site: Site, workspace: Workspace) -> UserError:
    """Return one error for all environments, with the command that builds them."""
    if len(missing) == 1:
        return missing[0]
    names = [error.name for error in missing]
    named = naming_hint(site, "their modules, containers or Pythons", workspace)
    hint = f"build them: hpcbench env build {' '.join(names)}; {named}"
    return UserError(f"these environments are not built: {', '.join(names)}", hint=hint)


def _description(plan: Plan, writer: ScriptWriter, pythons: dict[str, str], document: Document) -> dict[str, Any]:
    paths = writer.paths
    return {
        "schema": SCHEMA,
        "name": paths.name,
        "hpcbench_version": hpcbench.__version__,
        "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "results": str(paths.results),
        "experiment": plan.experiment.model_dump(mode="json"),
        "source": str(Path(document.name).absolute()) if Path(document.name).is_file() else None,
        "axes": plan.experiment.axis_names,
        "site": plan.site.model_dump(mode="json"),
        "shell_defaults": plan.site.shell_defaults,
        "git": git_state(writer.workspace.root),
        "cases": len(plan.cases),
        "jobs": {
            job.name: {
                "slurm": job.resources.slurm.model_dump(exclude_unset=True),
                "width": job.width,
                "environment": job.resources.environment,
                "python": pythons[job.resources.environment],
                "launch": writer.launch(job, pythons[job.resources.environment])._asdict(),
            }
            for job in plan.jobs
        },
    }
