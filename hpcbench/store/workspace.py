"""Where a workspace keeps its sweeps: what was submitted under jobs/, what came back under results/."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from pathlib import Path

from hpcbench.errors import UserError, nearest


def log_name(index: int | str, array_id: str | None) -> str:
    """The file of what a job printed, in the folder of the logs of its batch: by array index, or element if local."""
    return f"{array_id or 'local'}_{index}_0_log.out"


@dataclass(frozen=True)
class SweepPaths:
    """The files of one sweep. A batch is one sbatch of a job's script; a bare one, and all local runs, have its name.

    What grows with the sweep lies in a folder for each batch, so that none has more than a thousand entries.
    """

    name: str
    jobs: Path
    results: Path
    archive: Path | None = None  # the file that they were read from

    @property
    def description(self) -> Path:
        return self.jobs / "sweep.json"

    @property
    def journal(self) -> Path:
        return self.jobs / "journal.jsonl"

    @property
    def records(self) -> Path:
        return self.results / "records"

    def packages(self, environment: str) -> Path:
        """What is installed in an environment, as it was when the sweep was made, or had run in it once."""
        return self.results / "environments" / f"{environment}.json"

    def script(self, job: str) -> Path:
        return self.jobs / f"{job}.sh"

    def runs(self, job: str) -> Path:
        return self.jobs / f"{job}.jsonl"

    def packs(self, batch: str) -> Path:
        return self.jobs / "packs" / batch

    def logs(self, batch: str) -> Path:
        return self.jobs / "logs" / batch

    def log(self, batch: str, index: int, array_id: str | None) -> Path:
        """What a job printed, as an element of an array of Slurm, or on this machine."""
        return self.logs(batch) / log_name(index, array_id)

    @property
    def findings(self) -> Path:
        """What a search has found, once it has ended."""
        return self.results / "tuning.json"

    def local_records(self, job: str) -> Path:
        """What all local runs of a job have written."""
        return self.records / job / "local.jsonl"

    def running(self, batch: str) -> Path:
        """The folder of what its repetitions have while they run, named ELEMENT-JOBID-RESTART-ATTEMPT."""
        return self.results / "running" / batch


@dataclass(frozen=True)
class Workspace:
    """A folder with jobs/ and results/, and perhaps configs/ and templates/ of its own."""

    root: Path

    def paths(self, sweep: str) -> SweepPaths:
        return SweepPaths(sweep, self.root / "jobs" / sweep, self.root / "results" / sweep)

    @property
    def machines(self) -> Path:
        """The folder of what is known of types of nodes, whatever sweep ran there: no sweep can have its name."""
        return self.root / "results" / ".machines"

    def sweeps(self) -> list[str]:
        """The names of all sweeps, the latest last."""
        found = (self.root / "jobs").glob("[!.]*/sweep.json")
        return [path.parent.name for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))]

    def find(self, name: str) -> SweepPaths:
        """A sweep by its name, a unique prefix of it, or `latest`. Raises UserError where there is no such one."""
        sweeps = self.sweeps()
        if not sweeps:
            raise UserError(
                "there is no sweep in this workspace",
                where=str(self.root),
                hint="start one: hpcbench sweep FILE",
            )
        if name == "latest":
            return self.paths(sweeps[-1])
        matches = [sweep for sweep in sweeps if sweep == name] or [s for s in sweeps if s.startswith(name)]
        if len(matches) == 1:
            return self.paths(matches[0])
        if matches:
            raise UserError(f"'{name}' could be any of: {', '.join(sorted(matches))}", hint="give more letters")
        raise UserError(f"no sweep is called '{name}'", where=str(self.root / "jobs"), hint=nearest(name, sweeps))

    def new_name(self, experiment: str, now: datetime.datetime) -> str:
        """`EXPERIMENT-DATE-TIME`, made unique by a number where two start in one second."""
        base = f"{experiment}-{now:%Y%m%d-%H%M%S}"
        taken = {path.name for path in (self.root / "jobs").glob(f"{base}*")}
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name


_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # and bytes that are no UTF-8
_ODD = re.compile(r"[^A-Za-z0-9_./@+,=:~-]")


def check_root(root: Path, scheduler: str) -> None:
    """Raises UserError for a workspace whose path cannot stand in a script.

    A log path with blanks or quotes cannot stand in an #SBATCH line; a line break would end a comment of any script.
    """
    odd = (_ODD if scheduler == "slurm" else _CONTROL).search(str(root))
    if odd:
        raise UserError(
            f"the path of the workspace contains {odd.group()!r}, which a job script cannot carry",
            where=str(root),
            hint="use a folder with plain letters, digits and . _ - in its path",
        )
