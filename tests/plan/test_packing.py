from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from hpcbench.config.experiment import Measure
from hpcbench.plan.packing import Job, Sharing, pack, shuffled_runs
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
    alone = pack(shuffled_runs(cases, Measure(repetitions=3)), 10**6, lambda resources: Sharing())
    assert sizes(alone) == [999, 999, 102]


PACKED = "matrix: {seed: {range: [1, 25]}}\nmeasure: {repetitions: 1}\nslurm: {time: '00:10:00', pack_walltime: %s}\n"


def test_repetitions_share_a_job_as_many_as_its_wall_time_has_room_for(plan: MakePlan) -> None:
    (job,) = plan(PACKED % "'00:45:00'").jobs
    assert [len(each) for each in job.packs] == [4, 4, 4, 4, 4, 4, 1]
    assert [run.order for run in job.runs] == list(range(25))
    assert job.packed_elements[0] == (0, 1, 2, 3)
    assert job.packed_elements[-1] == (24,)
    assert (job.limit_s, job.time, job.width) == (2400, "0:40:00", 1)


def test_without_a_pack_walltime_each_repetition_has_a_job_of_its_own(plan: MakePlan) -> None:
    (job,) = plan(PACKED % "null").jobs
    assert [len(each) for each in job.packs] == [1] * 25
    assert job.packed_elements == [(element,) for element in range(25)]
    assert (job.limit_s, job.time) == (600, "00:10:00"), "as it was written"


def test_few_repetitions_ask_for_no_more_time_than_they_need(plan: MakePlan) -> None:
    (job,) = plan(PACKED.replace("25", "3") % "'10:00:00'").jobs
    assert (len(job.packs), job.time) == (1, "0:30:00")


def test_an_array_is_cut_by_its_packs(plan: MakePlan) -> None:
    jobs = plan(PACKED % "'00:20:00'", site="limits: {max_array_size: 5}").jobs
    assert [len(job.packs) for job in jobs] == [5, 5, 3]
    assert sizes(jobs) == [10, 10, 5]
    assert [elements[0] for elements in jobs[1].packed_elements] == [0, 2, 4, 6, 8], "of each job from 0"


def test_a_time_of_days_is_written_as_slurm_reads_it(plan: MakePlan) -> None:
    (job,) = plan(PACKED.replace("00:10:00", "08:00:00") % "2-12").jobs
    assert (job.limit_s, job.time) == (56 * 3600, "2-08:00:00")


SIDE_BY_SIDE = "matrix: {seed: {range: [1, 25]}}\nmeasure: {repetitions: 1}\n"
SIDE_BY_SIDE += "slurm: {time: '00:10:00', pack_walltime: '00:20:00', pack: parallel}\n"
EIGHT_CPUS = "partitions: {a: {default: true, cpus_per_node: 8}}\n"


def test_side_by_side_a_pack_has_some_for_each_turn_and_the_time_of_the_turns(plan: MakePlan) -> None:
    (job,) = plan("  cpus_per_task: 2\n" + SIDE_BY_SIDE, site=EIGHT_CPUS).jobs
    assert job.width == 4
    assert [len(each) for each in job.packs] == [8, 8, 8, 1]
    assert (job.limit_s, job.time) == (1200, "0:20:00")


def test_no_more_stand_side_by_side_than_there_are(plan: MakePlan) -> None:
    (job,) = plan(SIDE_BY_SIDE.replace("25", "3"), site=EIGHT_CPUS).jobs
    assert (job.width, len(job.packs), job.limit_s) == (3, 1, 600)


def test_runs_with_different_launchers_are_in_different_jobs(plan: MakePlan) -> None:
    """The launcher is in the script of the job."""
    program = ("framework=command", "model=null", "command=./a")
    jobs = plan("matrix: {launch: [srun, torchrun], seed: [1, 2]}", *program).jobs
    assert [{run.case.parameters.launch for run in job.runs} for job in jobs] in (
        [{"srun"}, {"torchrun"}],
        [{"torchrun"}, {"srun"}],
    )
    assert {job.resources.launch for job in jobs} == {"srun", "torchrun"}


def test_the_first_block_begins_with_a_run_of_each_workload(plan: MakePlan) -> None:
    sizes = "matrix: {size: [1, 2, 3], seed: [1, 2, 3, 4]}\nmeasure: {repetitions: 2}\n"
    program = ("framework=command", "model=null", "command=./a {{ size }}")
    made = plan(sizes, *program)
    runs = shuffled_runs(made.cases, made.experiment.measure)
    assert [run.is_first for run in runs] == [True] * 3 + [False] * 21
    assert {run.case.user_parameters["size"] for run in runs[:3]} == {1, 2, 3}
    assert [run.repetition for run in runs] == [1] * 12 + [2] * 12
    together = plan(sizes + "same_workload: [size]", *program)
    assert [run.order for job in together.jobs for run in job.runs if run.is_first] == [0]
