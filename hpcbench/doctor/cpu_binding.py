"""Whether the tasks of a job were given the CPUs and GPUs that were asked for, each its own. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from hpcbench.core import ranges
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING, Finding
from hpcbench.plan.packing import Resources
from hpcbench.util.text import plural

_BIND = "launcher: {srun: [--cpu-bind=cores]} in the site file; TaskPlugin=task/cgroup,task/affinity in slurm.conf."
_SETTLE = "Ask for AutoDetect or File= in gres.conf, and ConstrainDevices=yes in cgroup.conf."


@dataclass(frozen=True)
class Task:
    """What one task says it was given; see hpcbench.node.checks.placement."""

    rank: int
    host: str
    cpus: frozenset[int]
    cores: frozenset[str]  # each as the list of its CPUs
    visible_gpus: str | None  # the variable that says which GPUs it may use
    gpus: tuple[str, ...]  # as the driver shows them, by what tells them apart

    @classmethod
    def read(cls, told: dict[str, Any]) -> Task:
        cpus, cores = frozenset(told["cpus"]), frozenset(told["cores"])
        return cls(told["rank"], told["host"], cpus, cores, told["visible_gpus"], tuple(told["gpus"]))


def judge(asked: Resources, tasks: list[Task]) -> list[Finding]:
    """What these tasks of one node mean for cases that ask alike."""
    wanted = f"asked: {plural(asked.tasks, 'task')} with {plural(asked.cpus_per_task, 'CPU')} each"
    if len(tasks) < asked.tasks:
        means = "What srun gives the tasks of a job is not known, and may be nothing."
        found = f"{wanted}; {plural(len(tasks), 'task')} answered"
        return [Finding("CPU binding", PROBLEM, found, means, "Try `srun --ntasks=2 hostname` in a job of your own.")]
    found = f"{wanted}; given: {' and '.join(ranges.compact(task.cpus) for task in tasks)}"
    findings = [_cpus(asked, tasks, found)]
    return [*findings, _gpus(asked, tasks)] if asked.gpus else findings


def _cpus(asked: Resources, tasks: list[Task], found: str) -> Finding:
    pairs = list(combinations(tasks, 2))
    if any(one.cpus & other.cpus for one, other in pairs):
        means = "Tasks run on each other's CPUs: they are slower than they need be, and every run differs."
        return Finding("CPU binding", PROBLEM, found, means, _BIND)
    if any(len(task.cpus) < asked.cpus_per_task for task in tasks):
        means = "Threads share CPUs: cases with many threads are much slower than they need be."
        return Finding("CPU binding", PROBLEM, found, means, _BIND)
    if any(one.cores & other.cores for one, other in pairs):
        means = "Two tasks share a core, each on a hyperthread of it: they slow each other down."
        return Finding("CPU binding", WARNING, found, means, "slurm: {hint: nomultithread} in the site file.")
    return _threads(asked, tasks, found)


def _threads(asked: Resources, tasks: list[Task], found: str) -> Finding:
    """Each has its own; whether that is cores or hyperthreads."""
    cores = min(len(task.cores) for task in tasks)
    if any(len(task.cpus) > asked.cpus_per_task for task in tasks):
        means = "Slurm gives whole cores: a framework that takes all CPUs it sees starts more threads than asked for."
        return Finding("CPU binding", NOTE, found, means, "Set intra_op_threads; or slurm: {hint: nomultithread}.")
    if cores < asked.cpus_per_task:
        means = f"CPUs are hyperthreads here: {asked.cpus_per_task} of them are {plural(cores, 'core')}."
        mend = "Ask for twice as many CPUs as threads, or slurm: {hint: nomultithread} in the site file."
        return Finding("CPU binding", NOTE, found, means, mend)
    return Finding("CPU binding", OK, f"{found}, each its own")


def _gpus(asked: Resources, tasks: list[Task]) -> Finding:
    """A task sees those of its own, or all of the job: then each takes the one of its place."""
    wanted = f"asked: {plural(asked.gpus, 'GPU')}"
    told = " and ".join(task.visible_gpus or "nothing" for task in tasks)
    seen = {gpu for task in tasks for gpu in task.gpus}
    found = f"{wanted}; given: {told}; the driver shows {plural(len(seen), 'GPU')}"
    if any(len(task.gpus) < asked.gpus_per_task for task in tasks):
        means = "A task finds no GPU to compute on: no case on a GPU of this partition runs."
        return Finding("GPU binding", PROBLEM, found, means, f"Is the driver on the node? {_SETTLE}")
    if len(seen) < asked.gpus:
        means = "Tasks would share a GPU: hpcbench refuses to measure that."
        return Finding("GPU binding", PROBLEM, found, means, f"launcher: {{srun: [--gpus-per-task=1]}}. {_SETTLE}")
    if len(seen) > asked.gpus:
        means = "A job sees GPUs of others, and may compute on one that is in use."
        return Finding("GPU binding", WARNING, found, means, _SETTLE)
    return Finding("GPU binding", OK, found)
