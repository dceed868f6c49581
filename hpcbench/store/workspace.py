"""The paths of a workspace: what was submitted is under jobs/, what came back under results/."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from pathlib import Path

from hpcbench.core.profiling.operator_row import FOLDER as OPERATORS
from hpcbench.core.run_spec import OUTPUT
from hpcbench.core.training.trajectory import FOLDER as TRAJECTORIES
from hpcbench.errors import NotFoundError, UserError, nearest
from hpcbench.util.bounded_read import content
from hpcbench.util.fast_json import decoded
from hpcbench.util.package_data import shipped

MAX_NAMED = 5
DESCRIPTION, PREDICTIONS = "sweep.json", "predictions.json"  # in the folder of the jobs


def log_name(index: int | str, array_id: str | None) -> str:
    """Return the file name of a job's log in the folder of its batch: by array index, or by element for a local run."""
    return f"{array_id or 'local'}_{index}_0_log.out"


@dataclass(frozen=True)
class SweepPaths:
    """The paths of one sweep.

    A batch is one sbatch of the script of a job. Local runs, and a bare sbatch by the user, have the name of the job
    as their batch. Files whose number grows with the sweep are in one folder per batch, so that no folder has more
    than a thousand entries.
    """

    name: str
    jobs: Path
    results: Path
    archive: Path | None = None  # the archive that they were read from

    @property
    def description(self) -> Path:
        """Return the path of the description: sweep.json."""
        return self.jobs / DESCRIPTION

    @property
    def journal(self) -> Path:
        """Return the path of the journal."""
        return self.jobs / "journal.jsonl"

    @property
    def predictions(self) -> Path:
        """Return the path of the predictions of the cases; it exists only if there are any."""
        return self.jobs / PREDICTIONS

    @property
    def records(self) -> Path:
        """Return the folder of the records."""
        return self.results / "records"

    @property
    def output(self) -> Path:
        """Return the folder of the kept output of commands."""
        return self.results / OUTPUT

    @property
    def operators(self) -> Path:
        """Return the folder of the profiles of operators; it exists only if there are any."""
        return self.results / OPERATORS

    @property
    def trajectories(self) -> Path:
        """Return the folder of the weights of trainings; it exists only if there are any."""
        return self.results / TRAJECTORIES

    @property
    def operator_table(self) -> Path:
        """Return the path of the table of operators, which is made from their profiles."""
        return self.results / "operators.parquet"

    @property
    def reparsed(self) -> Path:
        """Return the path of the metrics that `hpcbench reparse` extracted; it exists only if there are any."""
        return self.results / "reparsed.jsonl"

    def packages(self, environment: str) -> Path:
        """Return the path of the list of packages in an environment.

        The list is from the time when the sweep was created, or first ran in the environment.
        """
        return self.results / "environments" / f"{environment}.json"

    def script(self, job: str) -> Path:
        """Return the path of the script of a job."""
        return self.jobs / f"{job}.sh"

    def runs(self, job: str) -> Path:
        """Return the path of the planned runs of a job."""
        return self.jobs / f"{job}.jsonl"

    def packs(self, batch: str) -> Path:
        """Return the path of the elements that each array index of a batch runs."""
        return self.jobs / "packs" / batch

    def logs(self, batch: str) -> Path:
        """Return the folder of the logs of a batch."""
        return self.jobs / "logs" / batch

    def log(self, batch: str, index: int, array_id: str | None) -> Path:
        """Return the path of the log of one array task, or of one local run if `array_id` is None."""
        return self.logs(batch) / log_name(index, array_id)

    @property
    def findings(self) -> Path:
        """Return the path of the result of a search, which exists after the search has ended."""
        return self.results / "tuning.json"

    def local_records(self, job: str) -> Path:
        """Return the path of the records of all local runs of a job."""
        return self.records / job / "local.jsonl"

    def running(self, batch: str) -> Path:
        """Return the folder of the temporary files of active runs, named ELEMENT-JOBID-RESTART-ATTEMPT."""
        return self.results / "running" / batch


@dataclass(frozen=True)
class Workspace:
    """A folder with jobs/ and results/, and optionally its own configs/ and templates/."""

    root: Path

    def paths(self, sweep: str) -> SweepPaths:
        """Return the paths of a sweep, which need not exist."""
        return SweepPaths(sweep, self.root / "jobs" / sweep, self.root / "results" / sweep)

    def input_file(self, path: str) -> Path:
        """Return the path of a file that an experiment names relative to the workspace.

        A path in configs/ that the workspace does not have is that of a shipped file, if there is one.
        """
        own, configs = self.root / path, shipped("configs")
        is_shipped = Path(path).parts[:1] == (configs.name,) and (configs.parent / path).is_file()
        return configs.parent / path if is_shipped and not own.exists() else own

    @property
    def device_files(self) -> list[Path]:
        """Return the user's own files with descriptions of devices, in configs/devices."""
        return sorted((self.root / "configs" / "devices").glob("[!.]*.yaml"))

    @property
    def machines(self) -> Path:
        """Return the folder of the peak performance of node types, which all sweeps share."""
        return self.root / "results" / ".machines"

    @property
    def operator_lists(self) -> Path:
        """Return the folder of the operators of cases that have not run, which can be deleted at any time."""
        return self.root / "results" / ".operators"

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, the latest last."""
        found = (self.root / "jobs").glob("[!.]*/sweep.json")
        return [path.parent.name for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))]

    def find(self, name: str) -> SweepPaths:
        """Return the paths of a sweep by its name, `latest`, the name of an experiment, or a unique prefix.

        The name of an experiment stands for its latest sweep. Raise NotFoundError if no sweep matches, and UserError if
        several do.
        """
        matches = self.matching(name)
        if len(matches) == 1:
            return self.paths(matches[0])
        if matches:
            shown = ", ".join(sorted(matches)[:MAX_NAMED]) + (", ..." if len(matches) > MAX_NAMED else "")
            raise UserError(f"'{name}' matches several sweeps: {shown}", hint="be more specific")
        sweeps = self.sweeps()
        if not sweeps:
            raise NotFoundError(
                "no sweep found in this workspace",
                where=str(self.root),
                hint="start one: hpcbench sweep FILE",
            )
        hint = nearest(name, {*sweeps, *self.experiments().values()})
        if not hint.startswith("did you mean"):
            hint = "to list all: hpcbench list sweeps"
        raise NotFoundError(f"sweep '{name}' not found", where=str(self.root / "jobs"), hint=hint)

    def matching(self, name: str) -> list[str]:
        """Return the sweeps that a name stands for, in the order of `find`: several if it is an ambiguous prefix."""
        sweeps = self.sweeps()
        if name == "latest":
            return sweeps[-1:]
        if name in sweeps:
            return [name]
        of_experiment = (sweep for sweep in reversed(sweeps) if _experiment_of(self.paths(sweep)) == name)
        latest = next(of_experiment, None)
        return [sweep for sweep in sweeps if sweep.startswith(name)] if latest is None else [latest]

    def experiments(self) -> dict[str, str]:
        """Return the name of its experiment by sweep, the latest last; without sweeps that cannot be read."""
        found = ((sweep, _experiment_of(self.paths(sweep))) for sweep in self.sweeps())
        return {sweep: experiment for sweep, experiment in found if experiment is not None}

    def new_name(self, experiment: str, now: datetime.datetime) -> str:
        """Return a new name, `EXPERIMENT-DATE-TIME`, with a number if that name is taken."""
        base = f"{experiment}-{now:%Y%m%d-%H%M%S}"
        taken = {path.name for path in (self.root / "jobs").glob(f"{base}*")}
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name


def _experiment_of(paths: SweepPaths) -> str | None:
    """Return the name of the experiment of a sweep, or None if its description cannot be read."""
    try:
        return str(decoded(content(paths.description))["experiment"]["name"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # surrogates are bytes that are not UTF-8
_ODD = re.compile(r"[^A-Za-z0-9_./@+,=:~-]")


def check_root(root: Path, scheduler: str) -> None:
    """Raise UserError if the path of a workspace cannot be written in a job script.

    An #SBATCH line cannot contain a log path with blanks or quotes; a line break would end a comment of any script.
    """
    odd = (_ODD if scheduler == "slurm" else _CONTROL).search(str(root))
    if odd:
        raise UserError(
            f"the path of the workspace contains {odd.group()!r}, which is not allowed in a job script",
            where=str(root),
            hint="use a path of letters, digits and . _ -",
        )
