"""The small job that looks at a node of a partition: what it asks for, its script, and what it found."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, Finding
from hpcbench.doctor import peaks
from hpcbench.doctor.checked_host import Place, machine_in_words
from hpcbench.doctor.cpu_binding import Task, judge
from hpcbench.errors import UserError
from hpcbench.plan.packing import Resources
from hpcbench.store.workspace import Workspace
from hpcbench.submit.script import checked, resource_options, srun_command
from hpcbench.submit.template import Template, quoted

TEMPLATE = "doctor.sh.j2"
NAME = "hpcbench-doctor"
LIMIT = "00:10:00"  # several of these may share a node, and take turns there
_TASKS = 2
_LAST_LINES = 5
NODE, BINDING = "node", "binding"


@dataclass(frozen=True)
class Wanted:
    """How to look at each node: for how long at its noise floor, whether at all of its CPUs, and its peaks by which
    Pythons beside that of the checkup; None: they are not measured."""

    seconds: int
    whole_node: bool = False
    peaks_by: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Checkup:
    """The job of one partition, and its files in a folder that the nodes see."""

    partition: str
    folder: Path
    number: int
    asked: Resources
    wanted: Wanted

    @property
    def name(self) -> str:
        return f"job-{self.number}"

    @property
    def script(self) -> Path:
        return self.folder / f"{self.name}.sh"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    def write(self, workspace: Workspace, site: Site) -> None:
        """Write the script. Raises UserError where the template of the workspace cannot be used."""
        options = [
            f"job-name={NAME}",
            f"output={self.log}",
            "no-requeue",
            *resource_options(self.asked, self.asked.slurm.time),
        ]
        try:
            text = Template.find(workspace, TEMPLATE).render(
                version=hpcbench.__version__,
                options=checked(options),
                folder=self.folder,
                name=self.name,
                outside=sys.executable,
                srun=" ".join(map(quoted, srun_command(self.asked, site))),
                seconds=self.wanted.seconds,
                peaks=self.wanted.peaks_by is not None,
                pythons=self.wanted.peaks_by or (),
            )
        except ValueError as error:
            raise UserError(f"the script cannot be written: {error}", where=str(self.script)) from error
        self.script.write_text(text, encoding="utf-8")

    def read(self) -> Place:
        """What the job found on its node, after its end."""
        place = of_partition(self.partition)
        tasks = [Task.read(told) for told in _lines(self.folder / f"{self.name}.tasks")]
        node, *found = _lines(self.folder / f"{self.name}.found") or [{}]
        if node:
            place.facts = machine_in_words({**node, "hostname": tasks[0].host if tasks else node["hostname"]})
        place.add(BINDING, judge(self.asked, sorted(tasks, key=lambda task: task.rank)))
        for told in found:
            place.add(told.pop("group"), [Finding(**told)])
        if not found:
            place.add(NODE, [self._failed()])
        elif self.wanted.peaks_by is not None:
            measured = _lines(self.folder / f"{self.name}.peaks")
            peaks.add(place, measured[-1] if measured else {})
        return place

    def _failed(self) -> Finding:
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        said = " / ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip())
        means = "Nothing is known of the nodes, and sweeps may fail there in the same way."
        mend = "Do the nodes see the workspace, and have they a Python 3.8 or newer?"
        return Finding("job", PROBLEM, f"it ended without a result: {said or 'it printed nothing'}", means, mend)


def of_partition(name: str) -> Place:
    return Place(name, f"partition {name}")


def what_to_ask(site: Site, name: str, partition: Partition, whole_node: bool = False) -> Resources:
    """Two tasks with two CPUs each, less where a node has less or tells nothing; for each a GPU where it has some.

    Of a whole node, the tasks have no more, but all CPUs are the job's.
    """
    cpus, gpus = partition.cpus_per_node or _TASKS, partition.gpus_per_node or 0
    tasks = min(_TASKS, cpus, gpus or _TASKS)
    limit_s = min(walltime_s(LIMIT), partition.max_time_s or walltime_s(LIMIT))
    slurm = site.slurm.model_copy(update={"partition": name, "time": f"{max(1, limit_s // 60)}"})
    if whole_node:
        slurm = slurm.model_copy(update={"exclusive": True})
    return Resources(1, tasks, min(2, cpus // tasks), min(1, gpus), "", slurm)


def _lines(file: Path) -> list[dict[str, Any]]:
    """The lines of JSON in a file; what a job printed between them, or left unfinished, is left out."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            found.append(told)
    return found
