"""A sweep on disk: its description, its planned runs, and what its jobs ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hpcbench.config.experiment import Retry
from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions, walltime_s
from hpcbench.core.files import appending, write_all
from hpcbench.core.run_spec import JOB_NAME, PlannedRun
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.store import ownership
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import content, lines
from hpcbench.util.fast_json import decoded

SCHEMA = 3


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was planned."""

    paths: SweepPaths
    description: dict[str, Any]

    @property
    def site(self) -> Site:
        """As it was when the sweep was made."""
        return Site.model_validate(self.description["site"])

    @property
    def scheduler(self) -> str:
        return str(self.description["site"]["scheduler"])

    @property
    def job_names(self) -> list[str]:
        return list(self.description["jobs"])

    def slurm(self, job: str) -> SlurmOptions:
        """What a job asks Slurm for."""
        return SlurmOptions.model_validate(self.description["jobs"][job]["slurm"])

    def limit_s(self, job: str) -> int:
        """The wall time of each repetition of a job."""
        return walltime_s(self.slurm(job).time)

    def width(self, job: str) -> int:
        """How many repetitions of a job run side by side."""
        return int(self.description["jobs"][job]["width"])

    @property
    def tuning(self) -> dict[str, Any] | None:
        """How a search was asked for, whose runs are added while it goes on; None for a sweep of all of its cases."""
        return self.description.get("tuning")

    @property
    def is_searched_by_job(self) -> bool:
        """Whether a job of Slurm searches, in which hpcbench itself starts the scripts, as on a machine of its own."""
        return (self.tuning or {}).get("scheduler") == "slurm"

    @property
    def retry(self) -> Retry:
        """Which repetitions are run again by themselves."""
        return Retry.model_validate(self.description["experiment"]["retry"])

    def environment(self, job: str) -> tuple[str, str]:
        """The name of a job's environment, and the Python in its script."""
        described = self.description["jobs"][job]
        return described["environment"], described["python"]

    def check_writable(self) -> None:
        """Raises UserError where nothing may be written: a folder is somebody else's, or a link."""
        ownership.check(self.paths, bool(self.description["experiment"].get("shared")))

    def is_exclusive(self, job: str) -> bool:
        """Whether the nodes of a job were shared with nobody."""
        return self.scheduler == "slurm" and self.slurm(job).exclusive

    def runs(self, job: str) -> Iterator[PlannedRun]:
        """The planned runs of one job, by element; one that a search is just adding is left out. Raises UserError where
        one is none."""
        path = self.paths.runs(job)
        try:
            with path.open("rb") as file:
                added = lines(file, whole=self.tuning is not None)
                yield from (PlannedRun(**decoded(line)) for line in added)
        except (TypeError, ValueError) as error:
            raise UserError(f"holds what is no planned run: {error}", where=str(path)) from error


def planned(case: Case, repetition: int, order: int, measure: dict[str, Any]) -> PlannedRun:
    """A run as the nodes read it."""
    parameters = case.parameters.planned()
    size = case.size and case.size._asdict()
    return PlannedRun(case.id, case.index, repetition, order, parameters, dict(case.tags), measure, size)


def add_run(paths: SweepPaths, job: str, run: PlannedRun) -> None:
    """Add a run to a job, durably; a line that an earlier death has cut off goes. Raises UserError where that cannot be
    written, and leaves the file as it was."""
    try:
        with appending(str(paths.runs(job)), whole_lines=True) as handle:
            write_all(handle, (run.as_line() + "\n").encode())
            os.fsync(handle)
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", where=str(paths.runs(job))) from error


def load(paths: SweepPaths) -> Sweep:
    """A sweep that exists. Raises UserError where its description cannot be read."""
    try:
        description = decoded(content(paths.description))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", where=str(paths.description)) from error
    if not isinstance(description, dict) or description.get("schema") != SCHEMA:
        version = description.get("hpcbench_version") if isinstance(description, dict) else "unknown"
        raise UserError(
            f"was written by another version of hpcbench ({version})",
            where=str(paths.description),
        )
    jobs = description.get("jobs")
    if not isinstance(jobs, dict) or not all(JOB_NAME.match(name) for name in jobs):
        raise UserError("its jobs have no names such as hpcbench gives", where=str(paths.description))
    return Sweep(paths, description)
