"""Pack cases into jobs: runs in seeded random order, runs that share a Slurm job, arrays of equal resources."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hpcbench.config.slurm_options import SlurmOptions, time_text, walltime_s
from hpcbench.core.run_spec import SRUN, Pack
from hpcbench.plan.workload import workload_of

if TYPE_CHECKING:
    from hpcbench.config.experiment import Measure
    from hpcbench.plan.case import Case

MAX_PACKS = 999  # per array: with the script and a log per pack, a folder has at most 1,000 entries
Item = TypeVar("Item")


@dataclass(frozen=True)
class Run:
    """One run of one case. `order` is its position among all runs of the sweep."""

    case: Case
    repetition: int
    order: int
    is_first: bool = False  # of its workload


@dataclass(frozen=True)
class Resources:
    """The requested resources of a run. Runs with equal resources share an array."""

    nodes: int
    tasks_per_node: int
    cpus_per_task: int
    gpus_per_task: int
    environment: str
    slurm: SlurmOptions
    launch: str = SRUN

    @property
    def tasks(self) -> int:
        """Return the number of tasks on all nodes."""
        return self.nodes * self.tasks_per_node

    @property
    def cores(self) -> int:
        """Return the number of CPUs of all tasks."""
        return self.tasks * self.cpus_per_task

    @property
    def gpus(self) -> int:
        """Return the number of GPUs of all tasks."""
        return self.tasks * self.gpus_per_task

    @property
    def limit_s(self) -> int:
        """Return the time limit of one run in seconds."""
        return walltime_s(self.slurm.time)


@dataclass(frozen=True)
class Sharing:
    """The sharing of a job by runs: `turns` consecutive turns of `width` concurrent runs."""

    turns: int = 1
    width: int = 1


@dataclass(frozen=True)
class Job:
    """A job script with its array. Array task k executes the runs of pack k, `width` of them concurrently."""

    name: str
    resources: Resources
    packs: tuple[tuple[Run, ...], ...]
    width: int = 1

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return all runs; the index of a run is its element."""
        return tuple(run for pack in self.packs for run in pack)

    @property
    def packed_elements(self) -> list[tuple[int, ...]]:
        """Return the elements of each pack."""
        elements = iter(range(len(self.runs)))
        return [tuple(next(elements) for _ in pack) for pack in self.packs]

    @property
    def limit_s(self) -> int:
        """Return the time limit of each array task in seconds, the sum over its turns."""
        turns = -(-max(map(len, self.packs)) // self.width)
        return turns * self.resources.limit_s

    @property
    def time(self) -> str:
        """Return the time limit of each array task in the format of sbatch; for a single turn, as the user wrote it."""
        return self.resources.slurm.time if self.limit_s == self.resources.limit_s else time_text(self.limit_s)


def resources_of(case: Case) -> Resources:
    """Return the resources that a case requests."""
    p = case.parameters
    counts = p.nodes, p.tasks_per_node, p.cpus_per_task, p.gpus_per_task
    return Resources(*counts, case.environment, case.slurm, p.launch)


def shuffled_runs(cases: Iterable[Case], measure: Measure, same_workload: Collection[str] = ()) -> list[Run]:
    """Return all runs in randomized blocks: each block has every case once, in random order.

    Blocks prevent slow drifts of the machine from favouring a case (Montgomery, "Design and Analysis of Experiments",
    chapter 4), and give every case an early first result. The first block begins with a run of each workload, so that
    a program that fails is found early.
    """
    generator = random.Random(measure.shuffle_seed)  # noqa: S311 - not for security
    ordered: list[tuple[Case, int]] = []
    block = list(cases)
    for repetition in range(1, measure.repetitions + 1):
        generator.shuffle(block)
        ordered += [(case, repetition) for case in block]
    first = {workload_of(case, same_workload): place for place, (case, _) in reversed(list(enumerate(ordered)))}
    leading = set(first.values())
    places = [*sorted(leading), *(place for place in range(len(ordered)) if place not in leading)]
    return [Run(*ordered[place], order, order < len(leading)) for order, place in enumerate(places)]


def pack(runs: Iterable[Run], max_array_size: int, sharing: Callable[[Resources], Sharing]) -> tuple[Job, ...]:
    """Return a job per array of at most `max_array_size` packs of equal resources, in the order of first appearance."""
    groups: dict[tuple[object, ...], tuple[Resources, list[Run]]] = {}
    for run in runs:
        resources = resources_of(run.case)
        groups.setdefault(_key(resources), (resources, []))[1].append(run)
    size = min(max_array_size, MAX_PACKS)
    arrays: list[tuple[Resources, tuple[tuple[Run, ...], ...], int]] = []
    for resources, group in groups.values():
        shared = sharing(resources)
        width = min(shared.width, len(group))
        arrays += [(resources, array, width) for array in cut(cut(group, shared.turns * width), size)]
    return tuple(Job(f"job-{number:03d}", *array) for number, array in enumerate(arrays, 1))


def cut(items: Sequence[Item], size: int) -> list[tuple[Item, ...]]:
    """Return `items` in chunks of `size`; the last one may be shorter."""
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]


def _key(resources: Resources) -> tuple[object, ...]:
    r = resources
    numbers = (r.nodes, r.tasks_per_node, r.cpus_per_task, r.gpus_per_task)
    return (*numbers, r.environment, r.launch, r.slurm.model_dump_json())


SPARE, START_S = 1.25, 10.0  # factor for the variation of runs, and seconds to start one


def estimated_s(measured_s: float | None, limit_s: int) -> float:
    """Return the estimated seconds of a run that took `measured_s` before; the time limit `limit_s` if it is None."""
    return limit_s if measured_s is None else min(limit_s, SPARE * measured_s + START_S)


def repack(elements: Iterable[tuple[int, float]], slurm: SlurmOptions, width: int) -> tuple[list[Pack], int]:
    """Return packs of elements, and the time limit of a pack in seconds.

    `elements` are pairs of an element and its estimated seconds. Packs are filled in order up to `slurm.pack_walltime`,
    with `width` concurrent elements. The time limit is at least that of one run, so that every run can complete.
    """
    limit_s = walltime_s(slurm.time)
    if slurm.pack_walltime is None:
        return [(element,) for element, _ in elements], limit_s
    most_s = walltime_s(slurm.pack_walltime)
    packs: list[Pack] = []
    longest_s = float(limit_s)
    lanes: list[float] = []
    for element, seconds in elements:
        if packs and min(lanes) + seconds <= most_s:
            packs[-1] = (*packs[-1], element)
        else:
            packs.append((element,))
            lanes = [0.0] * width
        lanes[lanes.index(min(lanes))] += seconds
        longest_s = max(longest_s, *lanes)
    return packs, min(most_s, math.ceil(longest_s))
