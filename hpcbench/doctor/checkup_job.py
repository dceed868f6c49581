"""The small job that checks a node of a partition: its resources, its script and its results."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, CheckResult
from hpcbench.doctor import peaks
from hpcbench.doctor.checked_host import CheckedHost, describe_machine, partition_host
from hpcbench.doctor.cpu_binding import Task, check_binding
from hpcbench.errors import UserError
from hpcbench.plan.packing import Resources
from hpcbench.store.workspace import Workspace
from hpcbench.submit.script import checked, resource_options, srun_command
from hpcbench.submit.template import Template, quoted

TEMPLATE = "doctor.sh.j2"
NAME = "hpcbench-doctor"
LIMIT = "00:10:00"  # several of these jobs may share a node, and take turns there
_TASKS = 2
_LAST_LINES = 5
NODE, BINDING = "node", "binding"


@dataclass(frozen=True)
class CheckupOptions:
    """The options of the checks on a node."""

    seconds: int  # duration of the noise measurement
    whole_node: bool = False
    peaks_by: tuple[str, ...] | None = None  # Pythons that may measure peaks, next to the checkup's; None: no peaks


@dataclass(frozen=True)
class Checkup:
    """The job of one partition, and its files in a folder that the nodes see."""

    partition: str
    folder: Path
    number: int
    resources: Resources
    options: CheckupOptions

    @property
    def name(self) -> str:
        """Return the name of the job, which begins the names of its files."""
        return f"job-{self.number}"

    @property
    def script(self) -> Path:
        """Return the path of the script."""
        return self.folder / f"{self.name}.sh"

    @property
    def log(self) -> Path:
        """Return the path of the log."""
        return self.folder / f"{self.name}.log"

    def write(self, workspace: Workspace, site: Site) -> None:
        """Write the script. Raise UserError if the workspace's template cannot be used."""
        options = [
            f"job-name={NAME}",
            f"output={self.log}",
            "no-requeue",
            *resource_options(self.resources, self.resources.slurm.time),
        ]
        try:
            text = Template.find(workspace, TEMPLATE).render(
                version=hpcbench.__version__,
                options=checked(options),
                folder=self.folder,
                name=self.name,
                outside=sys.executable,
                srun=" ".join(map(quoted, srun_command(self.resources, site))),
                seconds=self.options.seconds,
                peaks=self.options.peaks_by is not None,
                pythons=self.options.peaks_by or (),
            )
        except ValueError as error:
            raise UserError(f"the script cannot be written: {error}", where=str(self.script)) from error
        self.script.write_text(text, encoding="utf-8")

    def read(self) -> CheckedHost:
        """Return the results of a job that has ended."""
        host = partition_host(self.partition)
        tasks = [Task.from_json(line) for line in _lines(self.folder / f"{self.name}.tasks")]
        node, *found = _lines(self.folder / f"{self.name}.found") or [{}]
        if node:
            host.facts = describe_machine({**node, "hostname": tasks[0].host if tasks else node["hostname"]})
        host.add(BINDING, check_binding(self.resources, sorted(tasks, key=lambda task: task.rank)))
        for line in found:
            host.add(line.pop("group"), [CheckResult(**line)])
        if not found:
            host.add(NODE, [self._failed()])
        elif self.options.peaks_by is not None:
            measured = _lines(self.folder / f"{self.name}.peaks")
            peaks.add_peaks(host, measured[-1] if measured else {})
        return host

    def _failed(self) -> CheckResult:
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        printed = " / ".join(line.strip() for line in lines[-_LAST_LINES:] if line.strip())
        means = "The state of the nodes is unknown, and sweeps may fail in the same way."
        action = "Check that the nodes see the workspace and have Python 3.8 or newer."
        found = f"the job ended without a result: {printed or 'it printed nothing'}"
        return CheckResult("job", PROBLEM, found, means, action)


def resources_for(site: Site, name: str, partition: Partition, whole_node: bool = False) -> Resources:
    """Return the resources of the checkup job: two tasks with two CPUs, and one GPU if the nodes have GPUs, each.

    Request fewer tasks and CPUs if a node has fewer, or if their number is unknown. With `whole_node`, the tasks get no
    more, but the job has all CPUs.
    """
    cpus, gpus = partition.cpus_per_node or _TASKS, partition.gpus_per_node or 0
    tasks = min(_TASKS, cpus, gpus or _TASKS)
    limit_s = min(walltime_s(LIMIT), partition.max_time_s or walltime_s(LIMIT))
    slurm = site.slurm.model_copy(update={"partition": name, "time": f"{max(1, limit_s // 60)}"})
    if whole_node:
        slurm = slurm.model_copy(update={"exclusive": True})
    return Resources(1, tasks, min(2, cpus // tasks), min(1, gpus), "", slurm)


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the JSON objects in a file, one per line, without other output of the job and incomplete lines."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
