"""A sweep on disk: its description, its planned runs, and the resources of its jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hpcbench.config.retry import Retry
from hpcbench.config.site import Site, variable_of
from hpcbench.config.slurm_options import SlurmOptions, walltime_s
from hpcbench.core.files import appending, write_all
from hpcbench.core.rank_command import RankTask, packages_file, run_command, scratch_folder
from hpcbench.core.run_spec import JOB_NAME, PlannedRun
from hpcbench.errors import UserError
from hpcbench.store import ownership
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import content, lines
from hpcbench.util.fast_json import decoded

SCHEMA = 4


@dataclass(frozen=True)
class Sweep:
    """A planned sweep."""

    paths: SweepPaths
    description: dict[str, Any]

    @property
    def site(self) -> Site:
        """Return the site with which the sweep was created."""
        return Site.model_validate(self.description["site"])

    @property
    def scheduler(self) -> str:
        """Return the scheduler of the site: `slurm` or `local`."""
        return str(self.description["site"]["scheduler"])

    @property
    def cluster(self) -> str | None:
        """Return the Slurm cluster for which the sweep was created, or None if Slurm did not respond."""
        name: str | None = self.description.get("cluster")
        return name

    @property
    def other_cluster(self) -> str | None:
        """Return the cluster for the option `--clusters` of Slurm commands, or None for the cluster of this machine."""
        name: str | None = self.description["site"].get("cluster")
        return name

    @property
    def slurm_conf(self) -> str | None:
        """Return the slurm.conf of the site, or None for the one of the shell."""
        path: str | None = self.description["site"].get("slurm_conf")
        return path

    @property
    def job_names(self) -> list[str]:
        """Return the names of all jobs."""
        return list(self.description["jobs"])

    def slurm(self, job: str) -> SlurmOptions:
        """Return the Slurm options of a job."""
        return SlurmOptions.model_validate(self.description["jobs"][job]["slurm"])

    def shell_defaults(self, job: str) -> list[str]:
        """Return the SBATCH_ variables of the user's shell whose values a job has, e.g. `SBATCH_ACCOUNT=lab`."""
        given: dict[str, str] = self.description.get("shell_defaults", {})
        slurm = self.description["jobs"][job]["slurm"]
        return [f"{variable_of(option)}={value}" for option, value in given.items() if slurm.get(option) == value]

    def limit_s(self, job: str) -> int:
        """Return the time limit per run of a job, in seconds."""
        return walltime_s(self.slurm(job).time)

    def width(self, job: str) -> int:
        """Return how many runs of a job execute concurrently."""
        return int(self.description["jobs"][job]["width"])

    @property
    def tuning(self) -> dict[str, Any] | None:
        """Return the options of a search, which adds runs while it is active, or None for any other sweep."""
        return self.description.get("tuning")

    @property
    def is_searched_by_job(self) -> bool:
        """Return whether the search runs in a Slurm job, in which hpcbench starts the scripts itself."""
        return (self.tuning or {}).get("scheduler") == "slurm"

    @property
    def retry(self) -> Retry:
        """Return which runs are repeated automatically."""
        return Retry.model_validate(self.description["experiment"]["retry"])

    def environment(self, job: str) -> tuple[str, str]:
        """Return the name of a job's environment, and the path of its Python."""
        described = self.description["jobs"][job]
        return described["environment"], described["python"]

    def run_command(self, job: str, batch: str, element: int, process: str, restart: str, attempt: int) -> list[str]:
        """Return the command that starts the tasks of a run, as the driver of its job logs it for its first attempt.

        The arguments are those of `scratch_folder`. Options by which concurrent runs share a job are missing.
        """
        launch = self.description["jobs"][job]["launch"]
        task = RankTask(
            zipapp=str(self.paths.jobs / "node.pyz"),
            job_file=str(self.paths.runs(job)),
            element=element,
            scratch=scratch_folder(str(self.paths.running(batch)), element, process, restart, attempt),
            packages=packages_file(str(self.paths.results), self.environment(job)[0]),
            limit_s=self.limit_s(job),
            launcher=launch["launcher"],
        )
        return run_command(launch["srun"], (), launch["python"], task)

    def check_writable(self) -> None:
        """Raise UserError if a folder of the sweep is a link, or belongs to another user and is not shared."""
        ownership.check(self.paths, bool(self.description["experiment"].get("shared")))

    def is_exclusive(self, job: str) -> bool:
        """Return whether a job has its nodes exclusively."""
        return self.scheduler == "slurm" and self.slurm(job).exclusive

    def runs(self, job: str) -> Iterator[PlannedRun]:
        """Yield the planned runs of one job, by element. Leave out a run that a search is still adding.

        Raise UserError if a line is not a planned run.
        """
        path = self.paths.runs(job)
        try:
            with path.open("rb") as file:
                added = lines(file, whole=self.tuning is not None)
                yield from (PlannedRun(**decoded(line)) for line in added)
        except (TypeError, ValueError) as error:
            raise UserError(f"the file has an invalid run specification: {error}", where=str(path)) from error


def add_run(paths: SweepPaths, job: str, run: PlannedRun) -> None:
    """Append a run to a job and sync it to disk. Remove a cut-off last line first.

    Raise UserError if that fails, and leave the file unchanged.
    """
    try:
        with appending(str(paths.runs(job)), whole_lines=True) as handle:
            write_all(handle, (run.as_line() + "\n").encode())
            os.fsync(handle)
    except OSError as error:
        raise UserError(
            f"the file cannot be written: {error.strerror}",
            where=str(paths.runs(job)),
            hint="check the permissions and the free space of this directory",
        ) from error


def load(paths: SweepPaths) -> Sweep:
    """Return the sweep of `paths`. Raise UserError if its description cannot be read."""
    try:
        description = decoded(content(paths.description))
    except (OSError, ValueError) as error:
        what = f"the file cannot be read: {error}"
        raise UserError(what, where=str(paths.description), hint="check its permissions") from error
    if not isinstance(description, dict) or description.get("schema") != SCHEMA:
        version = description.get("hpcbench_version") if isinstance(description, dict) else "unknown"
        raise UserError(
            f"the sweep was written by another version of hpcbench ({version})",
            where=str(paths.description),
            hint="read it with that version, or start a new sweep",
        )
    jobs = description.get("jobs")
    if not isinstance(jobs, dict) or not all(JOB_NAME.match(name) for name in jobs):
        what = "the jobs of the sweep have names that hpcbench does not use"
        raise UserError(what, where=str(paths.description), hint="start a new sweep")
    return Sweep(paths, description)
