from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Measure
from hpcbench.plan.packing import Job, pack, shuffled_runs
from hpcbench.plan.plan import Plan

MakePlan = Callable[..., Plan]
CASES = "matrix: {seed: {range: [1, 40]}}\n"


def order(plan: Plan) -> list[tuple[str, int]]:
    return [(run.case.id, run.repetition) for run in shuffled_runs(plan.cases, plan.experiment.measure)]


def test_every_block_runs_every_case_once_in_an_order_of_its_own(plan: MakePlan) -> None:
    made = plan(CASES + "measure: {repetitions: 5}")
    runs = shuffled_runs(made.cases, made.experiment.measure)
    blocks = [runs[start : start + 40] for start in range(0, 200, 40)]
    assert [run.order for run in runs] == list(range(200))
    for repetition, block in enumerate(blocks, 1):
        assert {run.repetition for run in block} == {repetition}
        assert Counter(run.case.id for run in block) == Counter(case.id for case in made.cases)
    assert len({tuple(run.case.id for run in block) for block in blocks}) == 5
    assert [run.case.index for run in blocks[0]] != list(range(40))


def test_the_order_is_the_same_for_the_same_seed_and_another_for_another(plan: MakePlan) -> None:
    assert order(plan(CASES)) == order(plan(CASES))
    assert order(plan(CASES)) != order(plan(CASES + "measure: {shuffle_seed: 1}"))


def test_runs_that_ask_for_the_same_share_an_array(plan: MakePlan) -> None:
    jobs = plan("matrix: {cpus_per_task: [1, 2], seed: [1, 2, 3], batch_size: [4, 8]}\nmeasure: {repetitions: 2}").jobs
    assert {(job.resources.cpus_per_task, len(job.runs)) for job in jobs} == {(1, 12), (2, 12)}
    assert [job.name for job in jobs] == ["job-001", "job-002"]
    for job in jobs:
        assert {run.case.parameters.cpus_per_task for run in job.runs} == {job.resources.cpus_per_task}
        assert [run.order for run in job.runs] == sorted(run.order for run in job.runs)


@pytest.mark.parametrize(
    "axis",
    [
        "  strategy: ddp\nmatrix: {nodes: [1, 2]}",
        "  strategy: ddp\nmatrix: {tasks_per_node: [1, 2]}",
        "  device: gpu\nmatrix: {gpus_per_task: [1, 2]}",
        "matrix: {environment: [pytorch, other]}",
        'matrix: {seed: [1, 2]}\nslurm: {time: "{{ seed }}"}',
        'matrix: {seed: [1, 2]}\nslurm: {options: {nice: "{{ seed }}"}}',
    ],
)
def test_runs_that_ask_for_anything_different_do_not(axis: str, plan: MakePlan) -> None:
    assert len(plan(axis, site="  other: {}").jobs) == 2


def sizes(jobs: tuple[Job, ...]) -> list[int]:
    return [len(job.runs) for job in jobs]


@pytest.mark.parametrize(
    ("largest", "expected"), [(10, [10, 10, 5]), (25, [25]), (24, [24, 1]), (1, [1] * 25), (1001, [25])]
)
def test_arrays_are_cut_at_the_limit_of_the_site(largest: int, expected: list[int], plan: MakePlan) -> None:
    made = plan(
        "matrix: {seed: {range: [1, 25]}}\nmeasure: {repetitions: 1}", site=f"limits: {{max_array_size: {largest}}}"
    )
    assert sizes(made.jobs) == expected
    assert [run.order for job in made.jobs for run in job.runs] == list(range(25))


def test_no_array_has_more_than_a_thousand_elements(plan: MakePlan) -> None:
    cases = plan("matrix: {seed: {range: [1, 700]}}").cases
    assert sizes(pack(shuffled_runs(cases, Measure(repetitions=3)), 10**6)) == [1000, 1000, 100]
