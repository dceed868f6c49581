"""The small job that checks a node of a partition: its resources, its script and its results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, CheckResult
from hpcbench.doctor import peaks
from hpcbench.doctor.checked_host import CheckedHost, describe_machine, partition_host
from hpcbench.doctor.cpu_binding import Task, check_binding
from hpcbench.doctor.job_files import json_lines, last_lines_of_log, write_job_script
from hpcbench.plan.packing import Resources
from hpcbench.store.workspace import Workspace
from hpcbench.submit.script import srun_command
from hpcbench.submit.template import quoted

TEMPLATE = "doctor.sh.j2"
LIMIT = "00:10:00"  # several of these jobs may share a node, and take turns there
_TASKS = 2
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

    def write(self, workspace: Workspace, site: Site) -> None:
        """Write the script. Raise UserError if the workspace's template cannot be used."""
        write_job_script(
            workspace,
            TEMPLATE,
            self.script,
            self.resources,
            srun=" ".join(map(quoted, srun_command(self.resources, site))),
            seconds=self.options.seconds,
            peaks=self.options.peaks_by is not None,
            pythons=self.options.peaks_by or (),
        )

    def read(self) -> CheckedHost:
        """Return the results of a job that has ended."""
        host = partition_host(self.partition)
        tasks = [Task.from_json(line) for line in json_lines(self.folder / f"{self.name}.tasks")]
        node, *found = json_lines(self.folder / f"{self.name}.found") or [{}]
        if node:
            host.facts = describe_machine({**node, "hostname": tasks[0].host if tasks else node["hostname"]})
        host.add(BINDING, check_binding(self.resources, sorted(tasks, key=lambda task: task.rank)))
        for line in found:
            host.add(line.pop("group"), [CheckResult(**line)])
        if not found:
            host.add(NODE, [self._failed()])
        elif self.options.peaks_by is not None:
            measured = json_lines(self.folder / f"{self.name}.peaks")
            peaks.add_peaks(host, measured[-1] if measured else {})
        return host

    def _failed(self) -> CheckResult:
        means = "The state of the nodes is unknown, and sweeps may fail in the same way."
        action = "Check that the nodes see the workspace and have Python 3.8 or newer."
        found = f"the job ended without a result: {last_lines_of_log(self.script)}"
        return CheckResult("job", PROBLEM, found, means, action)


def resources_for(site: Site, name: str, partition: Partition, whole_node: bool = False) -> Resources:
    """Return the resources of the checkup job: two tasks with two CPUs, and one GPU if the nodes have GPUs, per task.

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
