"""The folder of a sweep: written whole before anything is submitted, and read again by every later command."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.slurm_options import walltime_s
from hpcbench.environments.resolve import NotBuiltError, Resolved, resolve
from hpcbench.errors import UserError
from hpcbench.node.planned import PlannedRun, parse
from hpcbench.plan.case import Case
from hpcbench.plan.plan import Plan
from hpcbench.submit.node_code import node_zipapp
from hpcbench.submit.script import ScriptWriter
from hpcbench.workspace import SweepPaths, Workspace

SCHEMA = 2


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was planned."""

    paths: SweepPaths
    description: dict[str, Any]

    @property
    def scheduler(self) -> str:
        return str(self.description["site"]["scheduler"])

    @property
    def job_names(self) -> list[str]:
        return list(self.description["jobs"])

    def limit_s(self, job: str) -> int:
        """The wall time of each element of a job."""
        return walltime_s(self.description["jobs"][job]["time"])

    def environment(self, job: str) -> tuple[str, str]:
        """The name of a job's environment, and the Python in its script."""
        described = self.description["jobs"][job]
        return described["environment"], described["python"]

    def max_running(self, job: str) -> int | None:
        """How many elements of a job's array may run at once."""
        value: int | None = self.description["jobs"][job]["max_running"]
        return value

    def is_exclusive(self, job: str) -> bool:
        """Whether the nodes of a job were shared with nobody."""
        return self.scheduler == "slurm" and bool(self.description["jobs"][job]["exclusive"])

    def runs(self, job: str) -> Iterator[PlannedRun]:
        """The planned runs of one job, by element."""
        with self.paths.runs(job).open(encoding="utf-8") as file:
            yield from map(parse, file)


def create(workspace: Workspace, paths: SweepPaths, plan: Plan, source: Path) -> Sweep:
    """Write the folder of a new sweep. Raises UserError where a Python is missing or the disk is full.

    It is made under another name and renamed, so that a folder with its final name is always complete.
    """
    pythons = {name: found.python for name, found in resolved(plan, workspace).items()}
    _check_data(plan, workspace)
    description = _description(plan, paths, workspace, pythons)
    unfinished = paths.jobs.parent
    try:
        unfinished.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{paths.name}.", dir=unfinished))
        unfinished.chmod(0o755)
        _write(unfinished, paths, plan, pythons, workspace, source)
        (unfinished / "sweep.json").write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
        for job in plan.jobs:
            (unfinished / "logs" / job.name).mkdir(parents=True)
        paths.results.mkdir(parents=True, exist_ok=True)
        unfinished.rename(paths.jobs)
    except OSError as error:
        raise UserError(
            f"the sweep cannot be written: {error.strerror}",
            where=str(error.filename or paths.jobs),
            hint="nothing was submitted",
        ) from error
    finally:
        if unfinished != paths.jobs.parent:
            shutil.rmtree(unfinished, ignore_errors=True)
    return Sweep(paths, description)


def _check_data(plan: Plan, workspace: Workspace) -> None:
    """Raises UserError for data that are not there, unless a container may bring them."""
    for case in plan.cases:
        data = case.parameters.data
        if data is None or plan.site.environment(case.environment).container:
            continue
        path = workspace.root / str(data.npz or data.imagefolder)
        there = path.is_file() if data.npz else path.is_dir()
        if not there:
            wanted = "file" if data.npz else "folder"
            raise UserError(
                f"there is no such {wanted} of data", where=str(path), hint="paths of data begin at the workspace"
            )


def _write(
    folder: Path, paths: SweepPaths, plan: Plan, pythons: dict[str, str], workspace: Workspace, source: Path
) -> None:
    writer = ScriptWriter(workspace, paths, plan.site, plan.experiment.measure)
    (folder / "node.pyz").write_bytes(node_zipapp())
    shutil.copyfile(source, folder / "experiment.yaml")
    for job in plan.jobs:
        (folder / f"{job.name}.sh").write_text(writer.render(job, pythons[job.resources.environment]), encoding="utf-8")
        with (folder / f"{job.name}.jsonl").open("w", encoding="utf-8") as file:
            measure = plan.experiment.measure.model_dump()
            file.writelines(_line(run.case, run.repetition, run.order, measure) + "\n" for run in job.runs)


def _line(case: Case, repetition: int, order: int, measure: dict[str, Any]) -> str:
    parameters = case.parameters.planned()
    return PlannedRun(case.id, case.index, repetition, order, parameters, dict(case.tags), measure).as_line()


def load(paths: SweepPaths) -> Sweep:
    """A sweep that exists. Raises UserError where its description cannot be read."""
    try:
        description = json.loads(paths.description.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", where=str(paths.description)) from error
    if not isinstance(description, dict) or description.get("schema") != SCHEMA:
        version = description.get("hpcbench_version") if isinstance(description, dict) else "unknown"
        raise UserError(
            f"was written by another version of hpcbench ({version})",
            where=str(paths.description),
        )
    return Sweep(paths, description)


def resolved(plan: Plan, workspace: Workspace, *, only_shown: bool = False) -> dict[str, Resolved]:
    """The environments of a plan by name. Raises UserError for one that is not there.

    For a plan that is `only_shown`, one that is not built yet is a warning.
    """
    found, missing = {}, []
    for name in sorted({job.resources.environment for job in plan.jobs}):
        try:
            found[name] = resolve(plan.site, name, workspace)
        except NotBuiltError as error:
            missing.append(error)
            found[name] = Resolved(plan.site.environment(name), error.python, f"{error.what}; {error.hint}")
    if missing and not only_shown:
        raise _not_built(missing)
    return found


def _not_built(missing: list[NotBuiltError]) -> UserError:
    """One error that names them all, with one command that builds them."""
    if len(missing) == 1:
        return missing[0]
    names = [error.name for error in missing]
    hint = f"hpcbench env build {' '.join(names)}; or name their Pythons under `environments:` in the site file"
    return UserError(f"these environments are not built: {', '.join(names)}", hint=f"build them: {hint}")


def _description(plan: Plan, paths: SweepPaths, workspace: Workspace, pythons: dict[str, str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "name": paths.name,
        "hpcbench_version": hpcbench.__version__,
        "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "results": str(paths.results),
        "experiment": plan.experiment.model_dump(mode="json"),
        "axes": plan.experiment.axis_names,
        "site": plan.site.model_dump(mode="json"),
        "git": git_state(workspace.root),
        "cases": len(plan.cases),
        "jobs": {
            job.name: {
                "time": job.resources.slurm.time,
                "max_running": job.resources.slurm.max_running,
                "exclusive": job.resources.slurm.exclusive,
                "environment": job.resources.environment,
                "python": pythons[job.resources.environment],
            }
            for job in plan.jobs
        },
    }


@lru_cache(maxsize=8)
def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit of a folder and whether it has changes; None where it is no git checkout."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
