from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.matrix.csv_group import with_csv_files
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import load_yaml, parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.matrix import count_points
from hpcbench.plan.plan import Plan, budget, check_size, make_plan
from hpcbench.util.package_data import shipped

MakePlan = Callable[..., Plan]

PARTITIONS = """\
partitions:
  cpu: {default: true, nodes: 8, max_nodes: 4, cpus_per_node: 16, gpus_per_node: 0, max_time: "02:00:00"}
  gpu: {nodes: 2, cpus_per_node: 32, gpus_per_node: 4, memory_mb_per_node: 1000}
"""


@pytest.mark.parametrize("experiment", sorted(p.stem for p in (shipped("configs") / "experiments").glob("*.yaml")))
@pytest.mark.parametrize("site", ["laptop", "local-slurm"])
def test_a_shipped_experiment_runs_on_a_shipped_site(experiment: str, site: str) -> None:
    file = shipped("configs") / "experiments" / f"{experiment}.yaml"
    document = with_csv_files(load_yaml(file), lambda path: shipped("configs").parent / path)
    loaded = load_site(load_yaml(shipped("configs") / "sites" / f"{site}.yaml"))
    assert make_plan(load_experiment(document), document, loaded).jobs


def test_a_budget_is_the_walltime_of_every_repetition(plan: MakePlan) -> None:
    made = plan(
        "  strategy: ddp\n  device: gpu\n  nodes: 2\n  tasks_per_node: 3\n  cpus_per_task: 4\n  gpus_per_task: 2\n"
        "matrix: {seed: [1, 2, 3, 4, 5]}\nmeasure: {repetitions: 2}\nslurm: {time: 00:30:00}"
    )
    found = budget(made.jobs, made.site)  # 10 repetitions of half an hour
    assert (found.node_hours, found.core_hours, found.gpu_hours) == pytest.approx((10, 120, 60))
    assert found.longest_s == 1800


def test_a_budget_adds_jobs_of_different_kinds(plan: MakePlan) -> None:
    made = plan(
        'matrix: {cpus_per_task: [1, 8]}\nmeasure: {repetitions: 1}\nslurm: {time: "{{ cpus_per_task }}:00:00"}'
    )
    found = budget(made.jobs, made.site)
    assert (found.node_hours, found.core_hours, found.gpu_hours) == pytest.approx((9, 65, 0))
    assert found.longest_s == 8 * 3600


def test_a_budget_of_packs_is_that_of_all_turns_and_of_all_that_stand_side_by_side(plan: MakePlan) -> None:
    text = "  cpus_per_task: 4\nmatrix: {seed: {range: [1, 8]}}\nmeasure: {repetitions: 1}\n"
    serial = plan(text + "slurm: {time: '00:30:00', pack_walltime: '02:00:00'}", site=PARTITIONS)
    found = budget(serial.jobs, serial.site)  # two packs of two hours
    assert (found.node_hours, found.core_hours, found.longest_s) == pytest.approx((4, 16, 7200))
    beside = plan(text + "slurm: {time: '00:30:00', pack_walltime: '00:30:00', pack: parallel}", site=PARTITIONS)
    found = budget(beside.jobs, beside.site)  # two packs of half an hour on 16 cores
    assert (found.node_hours, found.core_hours, found.longest_s) == pytest.approx((1, 16, 1800))


@pytest.mark.parametrize(
    ("most", "follow_on", "words"),
    [
        (
            4,
            "false",
            ["the sweep has 5 jobs, and the limit of the queue is 4: `hpcbench resume` submits the rest"],
        ),
        (4, "true", ["the sweep has 5 jobs, and the limit of the queue is 4: a continuation job submits the rest"]),
        (5, "false", []),
    ],
)
def test_more_jobs_than_the_queue_takes_cause_a_warning_with_how_the_rest_is_submitted(
    plan: MakePlan, most: int, follow_on: str, words: list[str]
) -> None:
    made = plan(
        f"matrix: {{seed: {{range: [1, 5]}}}}\nmeasure: {{repetitions: 1}}\nslurm: {{follow_on: {follow_on}}}",
        site=f"limits: {{max_submit_jobs: {most}}}",
    )
    assert [warning[: len(start)] for warning, start in zip(made.warnings, words, strict=True)] == words


def test_a_job_for_each_of_very_many_runs_causes_a_warning(plan: MakePlan) -> None:
    text = "matrix: {seed: {range: [1, 1700]}}\nslurm: {time: 10"
    (warning,) = plan(text + "}").warnings
    assert warning.startswith("the sweep has 10200 jobs in 11 arrays; slurm.pack_walltime combines runs")
    assert plan(text + ", pack_walltime: 30}").warnings == ()


def test_repetitions_that_share_a_job_are_one_job_in_the_queue(plan: MakePlan) -> None:
    text = "matrix: {seed: {range: [1, 6]}}\nmeasure: {repetitions: 1}\n"
    made = plan(text + "slurm: {time: 10, pack_walltime: 30}", site="limits: {max_submit_jobs: 2}")
    assert made.warnings == ()


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("[1, 2, 4]", "2 of 3 cases request several nodes, but site 'here' is a single machine"),
        ("[1, 2]", "1 of 2 cases requests several nodes, but site 'here' is a single machine"),
        ("[1]", ""),
    ],
)
def test_cases_on_several_nodes_cause_a_warning_on_a_single_machine(nodes: str, words: str) -> None:
    command = "{framework: command, command: 'true'}"
    document = parse_yaml(f"name: study\nparameters: {command}\nmatrix: {{nodes: {nodes}}}\n", "study.yaml")
    environments = "environments: {command: {}}\n"
    here, cluster = (
        load_site(parse_yaml(f"name: here\nscheduler: {scheduler}\n{environments}", "here.yaml"))
        for scheduler in ("local", "slurm")
    )
    warnings = make_plan(load_experiment(document), document, here).warnings
    assert [each.partition(":")[0] for each in warnings] == ([words] if words else [])
    assert make_plan(load_experiment(document), document, cluster).warnings == ()


def test_a_limit_keeps_the_first_cases(plan: MakePlan) -> None:
    made = plan("matrix: {seed: [3, 1, 2]}\nmeasure: {repetitions: 2}", limit=2)
    assert [case.parameters.seed for case in made.cases] == [3, 1]
    assert sum(len(job.runs) for job in made.jobs) == 4


def test_an_unknown_partition_is_refused_with_the_nearest(plan: MakePlan) -> None:
    with pytest.raises(UserError) as caught:
        plan("slurm:\n  partition: gpus", site=PARTITIONS)
    assert str(caught.value).startswith(
        "study.yaml:6: slurm.partition: partition 'gpus' not found in the site 'cluster'"
    )
    assert "did you mean 'gpu'" in str(caught.value)


@pytest.mark.parametrize("site", ["", PARTITIONS.replace("default: true, ", "")])
def test_what_the_site_does_not_know_is_left_to_slurm(site: str, plan: MakePlan) -> None:
    assert plan("  cpus_per_task: 1000", site=site).jobs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slurm:\n  time: '02:00:01'", "study.yaml:6: slurm.time: 02:00:01 exceeds the limit of partition 'c"),
        (
            "slurm:\n  time: '00:10:00'\n  pack_walltime: '02:00:01'",
            "study.yaml:7: slurm.pack_walltime: 02:00:01 exceeds the limit of partition 'cpu'",
        ),
        ("  strategy: ddp\n  nodes: 5", "study.yaml:6: parameters.nodes: a case requests 5 nodes, and partition 'cpu'"),
        ("  cpus_per_task: 17", "study.yaml:5: parameters.cpus_per_task: a case requests 17 CPUs per node"),
        ("  strategy: ddp\n  tasks_per_node: 4\n  cpus_per_task: 5", "a case requests 20 CPUs per node"),
        ("  device: gpu", "a case requests 1 GPUs per node, and partition 'cpu' has 0"),
        ("  device: gpu\n  gpus_per_task: 5\nslurm: {partition: gpu}", "a case requests 5 GPUs per node"),
        ("  strategy: ddp\n  nodes: 3\nslurm: {partition: gpu}", "a case requests 3 nodes, and partition 'gpu' has 2"),
        ("  cpus_per_task: 33\nslurm: {partition: 'cpu,gpu'}", "a case requests 33 CPUs"),
        ("slurm: {partition: gpu, mem: 2G}", "partition 'gpu'"),
        ("  cpus_per_task: 2\nslurm: {partition: gpu, mem_per_cpu: 600M}", "partition 'gpu'"),
        ("matrix:\n  cpus_per_task: [1, 17]", "study.yaml:6: matrix.cpus_per_task: a case requests 17 CPUs"),
    ],
)
def test_a_case_over_the_limits_of_its_partition_is_refused(text: str, words: str, plan: MakePlan) -> None:
    with pytest.raises(UserError) as caught:
        plan(text, site=PARTITIONS)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "slurm: {time: '02:00:00'}",
        "  strategy: ddp\n  nodes: 4\n  tasks_per_node: 4\n  cpus_per_task: 4",
        "  device: gpu\n  gpus_per_task: 4\nslurm: {partition: gpu, time: 9-0}",
        "  cpus_per_task: 20\nslurm: {partition: 'cpu,gpu'}",  # one of the two has room
    ],
)
def test_a_case_at_the_limits_is_planned(text: str, plan: MakePlan) -> None:
    assert plan(text, site=PARTITIONS).jobs


def test_a_machine_without_a_scheduler_has_no_partitions_to_check() -> None:
    document = parse_yaml("name: a\nparameters: {framework: pytorch, model: mlp, cpus_per_task: 99}\n", "study.yaml")
    site = load_site(parse_yaml("name: a\nscheduler: local\nenvironments: {pytorch: {}}\n" + PARTITIONS, "site.yaml"))
    assert make_plan(load_experiment(document), document, site).jobs


def test_a_huge_matrix_is_refused_with_the_way_to_allow_it() -> None:
    axes = "matrix: {seed: {range: [1, 1000]}, batch_size: {range: [1, 1000]}}\n"
    document = parse_yaml(f"name: study\n{axes}", "study.yaml")
    count = count_points(load_experiment(document))
    with pytest.raises(UserError, match=r"^study.yaml: the matrix has 1,000,000 points, more than 100,000\n.*--yes"):
        check_size(count, 100_000, document)
    check_size(count, count, document)


def test_fixing_the_only_axis_keeps_the_case_beside_the_included_points(plan: MakePlan) -> None:
    cases = plan("matrix: {batch_size: [1, 2]}\ninclude: [{batch_size: 3}]", "batch_size=9").cases
    assert 9 in [case.parameters.batch_size for case in cases]


@pytest.mark.parametrize(("time", "warned"), [("00:01:40", True), ("00:01:41", False)])
def test_samples_that_may_take_the_whole_wall_time_cause_a_warning(plan: MakePlan, time: str, warned: bool) -> None:
    made = plan(f'measure: {{max_time_s: 100}}\nslurm: {{time: "{time}"}}')
    said = ["measure.max_time_s (100 s) exceeds the time limit per run (100 s): its measurements may be lost"]
    assert list(made.warnings) == (said if warned else [])


def test_a_command_takes_no_samples_and_causes_no_warning_of_their_time(plan: MakePlan) -> None:
    command = "include: [{framework: command, command: 'true', model: null}]\n"
    made = plan(command + "slurm: {time: 00:00:05}", site="  command: {}\n")
    assert made.warnings == ()


def test_options_about_steps_cause_a_warning_if_all_cases_are_commands(plan: MakePlan) -> None:
    command = "{framework: command, command: 'true', model: null}"
    measure = "measure: {precision: 2 %, min_time_s: 2, max_time_s: 5, repetitions: 2}\n"
    (warning,) = plan(f"{measure}include: [{command}]", site="  command: {}\n").warnings
    assert warning.startswith("measure.min_time_s and measure.max_time_s have no effect on commands")
    assert "--set slurm.time=" in warning
    (warning,) = plan(f"include: [{command}]", "measure.max_time_s=5", site="  command: {}\n").warnings
    assert warning.startswith("measure.max_time_s has no effect on commands")
    assert plan(f"{measure}include: [{command}, {{batch_size: 4}}]", site="  command: {}\n").warnings == ()
