from __future__ import annotations

from dataclasses import replace

import pytest

from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.check_result import NOTE, OK, PROBLEM, WARNING
from hpcbench.doctor.cpu_binding import Task, check_binding
from hpcbench.plan.packing import Resources


def asked(cpus: int = 2, tasks: int = 2, gpus: int = 0) -> Resources:
    return Resources(1, tasks, cpus, gpus, "", SlurmOptions())


def task(rank: int, cpus: list[int], threads: int = 1, gpus: str | None = None, seen: tuple[str, ...] = ()) -> Task:
    """A task with these CPUs of a machine of eight cores; CPU n and n + 8 are hyperthreads of one core."""
    cores = {str(cpu % 8) if threads == 1 else f"{cpu % 8},{cpu % 8 + 8}" for cpu in cpus}
    told = {"rank": rank, "host": "n1", "cpus": cpus, "cores": sorted(cores), "visible_gpus": gpus, "gpus": list(seen)}
    return Task.from_json(told)


@pytest.mark.parametrize(
    ("first", "second", "threads", "level", "words"),
    [
        ([0, 1], [2, 3], 1, OK, ""),
        ([0, 1], [1, 2], 1, PROBLEM, "each other's CPUs"),
        ([0, 1, 2, 3], [0, 1, 2, 3], 1, PROBLEM, "each other's CPUs"),
        ([0], [1], 1, PROBLEM, "Threads share CPUs"),
        ([0, 8], [1, 9], 2, NOTE, "2 of them are 1 core"),
        ([0, 1], [8, 9], 2, WARNING, "hyperthreads of one core"),
        ([0, 1], [2, 3], 2, OK, ""),
        ([0, 1, 8, 9], [2, 3, 10, 11], 2, NOTE, "whole cores"),
        ([0, 1, 2], [4, 5, 6], 1, NOTE, "whole cores"),
    ],
    ids=[
        "each its own",
        "one CPU for both",
        "nothing bound",
        "fewer than requested",
        "hyperthreads of own cores",
        "hyperthreads of each other's cores",
        "a hyperthread of each of own cores",
        "whole cores with both hyperthreads",
        "more than requested",
    ],
)
def test_the_cpus_of_two_tasks_are_judged(
    first: list[int], second: list[int], threads: int, level: str, words: str
) -> None:
    (finding,) = check_binding(asked(), [task(0, first, threads), task(1, second, threads)])
    assert finding.level == level
    assert words in finding.means
    assert bool(finding.action) == (level != OK)


def test_what_was_asked_for_and_given_is_told() -> None:
    (finding,) = check_binding(asked(), [task(0, [0, 1]), task(1, [4, 6])])
    assert finding.found == "requested: 2 tasks with 2 CPUs each; given: 0-1 and 4,6, not shared"


def test_a_task_that_does_not_answer_is_a_problem() -> None:
    (finding,) = check_binding(asked(gpus=1), [task(0, [0, 1])])
    assert (finding.level, finding.subject) == (PROBLEM, "CPU binding")
    assert "1 task responded" in finding.found


@pytest.mark.parametrize(
    ("first", "second", "level", "words"),
    [
        (("a", "b"), ("a", "b"), OK, ""),
        (("a",), ("b",), OK, ""),
        (("a",), ("a",), PROBLEM, "share a GPU"),
        ((), (), PROBLEM, "finds no GPU"),
        (("a",), (), PROBLEM, "finds no GPU"),
        (("a", "b", "c", "d"), ("a", "b", "c", "d"), WARNING, "GPUs of other jobs"),
    ],
    ids=["both see both", "one each", "the same for both", "none", "none for one", "those of others, too"],
)
def test_the_gpus_of_two_tasks_are_judged(
    first: tuple[str, ...], second: tuple[str, ...], level: str, words: str
) -> None:
    tasks = [task(0, [0, 1], gpus="0,1", seen=first), task(1, [2, 3], gpus="0,1", seen=second)]
    cpus, gpus = check_binding(asked(gpus=1), tasks)
    assert cpus.level == OK
    assert (gpus.subject, gpus.level) == ("GPU binding", level)
    assert words in gpus.means


def test_a_job_with_whole_nodes_may_see_all_their_gpus() -> None:
    resources = asked(gpus=1)
    whole = replace(resources, slurm=resources.slurm.model_copy(update={"exclusive": True, "gpu_option": "none"}))
    tasks = [task(rank, [rank], gpus=None, seen=("a", "b", "c", "d")) for rank in (0, 1)]
    assert [check_binding(each, tasks)[1].level for each in (resources, whole)] == [WARNING, OK]


def test_one_task_with_one_gpu_is_judged_alone() -> None:
    cpus, gpus = check_binding(asked(tasks=1, gpus=1), [task(0, [0, 1], gpus="0", seen=("a",))])
    assert (cpus.level, gpus.level) == (OK, OK)
