"""Check that the tasks of a job got separate CPUs and GPUs, as many as it requested. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hpcbench.core import ranges
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, CheckResult
from hpcbench.plan.packing import Resources
from hpcbench.util.text import plural

_BIND = "launcher: {srun: [--cpu-bind=cores]} in the site file; TaskPlugin=task/cgroup,task/affinity in slurm.conf."
_CONFIGURE = "Ask for AutoDetect or File= in gres.conf, and ConstrainDevices=yes in cgroup.conf."


@dataclass(frozen=True)
class Task:
    """The CPUs and GPUs of one task; see hpcbench.node.checks.placement."""

    rank: int
    host: str
    cpus: frozenset[int]
    cores: frozenset[str]  # each as the list of its CPUs
    visible_gpus: str | None  # the environment variable with the GPUs that the task may use
    gpus: tuple[str, ...]  # unique names of the GPUs that the driver shows

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Task:
        """Return the task that a node describes. Raise KeyError if a value is missing."""
        cpus, cores = frozenset(values["cpus"]), frozenset(values["cores"])
        return cls(values["rank"], values["host"], cpus, cores, values["visible_gpus"], tuple(values["gpus"]))


def check_binding(resources: Resources, tasks: list[Task]) -> list[CheckResult]:
    """Return the effect of the binding of these tasks of one node on cases that request the same resources."""
    requested = f"requested: {plural(resources.tasks, 'task')} with {plural(resources.cpus_per_task, 'CPU')} each"
    if len(tasks) < resources.tasks:
        means = "The CPUs that srun gives to the tasks of a job are unknown."
        found = f"{requested}; {plural(len(tasks), 'task')} responded"
        return [CheckResult("CPU binding", PROBLEM, found, means, "Try `srun --ntasks=2 hostname` in a job.")]
    found = f"{requested}; given: {' and '.join(ranges.compact(task.cpus) for task in tasks)}"
    results = [_cpus(resources, tasks, found)]
    return [*results, _gpus(resources, tasks)] if resources.gpus else results


def _cpus(resources: Resources, tasks: list[Task], found: str) -> CheckResult:
    pairs = list(combinations(tasks, 2))
    if any(one.cpus & other.cpus for one, other in pairs):
        means = "Tasks run on each other's CPUs: they are slower than necessary, and every run differs."
        return CheckResult("CPU binding", PROBLEM, found, means, _BIND)
    if any(len(task.cpus) < resources.cpus_per_task for task in tasks):
        means = "Threads share CPUs: cases with many threads are much slower than necessary."
        return CheckResult("CPU binding", PROBLEM, found, means, _BIND)
    if any(one.cores & other.cores for one, other in pairs):
        means = "Two tasks run on hyperthreads of one core: they slow each other down."
        return CheckResult("CPU binding", WARNING, found, means, "slurm: {hint: nomultithread} in the site file.")
    return _threads(resources, tasks, found)


def _threads(resources: Resources, tasks: list[Task], found: str) -> CheckResult:
    """Return whether tasks with CPUs of their own have cores or hyperthreads."""
    cores = min(len(task.cores) for task in tasks)
    if any(len(task.cpus) > resources.cpus_per_task for task in tasks):
        means = "Slurm gives whole cores: a framework that uses all visible CPUs starts more threads than requested."
        return CheckResult("CPU binding", NOTE, found, means, "Set intra_op_threads; or slurm: {hint: nomultithread}.")
    if cores < resources.cpus_per_task:
        means = f"CPUs are hyperthreads here: {resources.cpus_per_task} of them are {plural(cores, 'core')}."
        action = "Request twice as many CPUs as threads, or slurm: {hint: nomultithread} in the site file."
        return CheckResult("CPU binding", NOTE, found, means, action)
    return CheckResult("CPU binding", OK, f"{found}, not shared")


def _gpus(resources: Resources, tasks: list[Task]) -> CheckResult:
    """Check the GPUs of the tasks. A task that sees all GPUs of the job uses the one with the number of its rank."""
    given = " and ".join(task.visible_gpus or "nothing" for task in tasks)
    visible = {gpu for task in tasks for gpu in task.gpus}
    found = f"requested: {plural(resources.gpus, 'GPU')}; given: {given}; "
    found += f"the driver shows {plural(len(visible), 'GPU')}"
    if any(len(task.gpus) < resources.gpus_per_task for task in tasks):
        means = "A task finds no GPU: cases on a GPU of this partition fail."
        return CheckResult("GPU binding", PROBLEM, found, means, f"Check the driver on the node. {_CONFIGURE}")
    if len(visible) < resources.gpus:
        means = "Tasks would share a GPU: hpcbench refuses to measure that."
        return CheckResult(
            "GPU binding", PROBLEM, found, means, f"Set slurm: {{gpu_option: gpus-per-task}}. {_CONFIGURE}"
        )
    if len(visible) > resources.gpus and not resources.slurm.exclusive:  # a job with whole nodes has all their GPUs
        means = "A job sees GPUs of other jobs, and may compute on one that is in use."
        return CheckResult("GPU binding", WARNING, found, means, _CONFIGURE)
    return CheckResult("GPU binding", OK, found)
