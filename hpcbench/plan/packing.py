"""From cases to jobs: repetitions in seeded random order, one array for all that ask for the same resources."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from hpcbench.config.experiment import Measure
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.case import Case

MAX_ELEMENTS = 1000  # of one array: logs and records get a folder per array, and no folder grows beyond this


@dataclass(frozen=True)
class Run:
    """One repetition of one case. `order` is its place among all runs of the sweep."""

    case: Case
    repetition: int
    order: int


@dataclass(frozen=True)
class Resources:
    """What a job asks for; runs that agree in all of it share an array."""

    nodes: int
    tasks_per_node: int
    cpus_per_task: int
    gpus_per_task: int
    environment: str
    slurm: SlurmOptions

    @property
    def tasks(self) -> int:
        return self.nodes * self.tasks_per_node

    @property
    def cores(self) -> int:
        return self.tasks * self.cpus_per_task

    @property
    def gpus(self) -> int:
        return self.tasks * self.gpus_per_task


@dataclass(frozen=True)
class Job:
    """One Slurm job array: element k is `runs[k]`."""

    name: str
    resources: Resources
    runs: tuple[Run, ...]


def resources_of(case: Case) -> Resources:
    """What one case asks for."""
    p = case.parameters
    return Resources(p.nodes, p.tasks_per_node, p.cpus_per_task, p.gpus_per_task, case.environment, case.slurm)


def shuffled_runs(cases: Iterable[Case], measure: Measure) -> list[Run]:
    """All repetitions, in randomized blocks: every case once in random order, then every case again.

    Blocks keep slow drifts of the machine from favouring a case (Montgomery, "Design and Analysis of Experiments",
    chapter 4), and give every case a first result early.
    """
    generator = random.Random(measure.shuffle_seed)  # noqa: S311 - an order, not a secret
    ordered: list[tuple[Case, int]] = []
    block = list(cases)
    for repetition in range(1, measure.repetitions + 1):
        generator.shuffle(block)
        ordered += [(case, repetition) for case in block]
    return [Run(case, repetition, order) for order, (case, repetition) in enumerate(ordered)]


def pack(runs: Iterable[Run], max_array_size: int) -> tuple[Job, ...]:
    """Jobs by equal resources, each at most `max_array_size` elements, in the order in which runs first appear."""
    groups: dict[tuple[object, ...], tuple[Resources, list[Run]]] = {}
    for run in runs:
        resources = resources_of(run.case)
        groups.setdefault(_key(resources), (resources, []))[1].append(run)
    size = min(max_array_size, MAX_ELEMENTS)
    parts = [
        (resources, tuple(group[start : start + size]))
        for resources, group in groups.values()
        for start in range(0, len(group), size)
    ]
    return tuple(Job(f"job-{number:03d}", *part) for number, part in enumerate(parts, 1))


def _key(resources: Resources) -> tuple[object, ...]:
    r = resources
    numbers = (r.nodes, r.tasks_per_node, r.cpus_per_task, r.gpus_per_task)
    return (*numbers, r.environment, r.slurm.model_dump_json())
