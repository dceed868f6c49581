"""How many repetitions share a job, and how many of them may stand side by side."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan, make_plan

MakePlan = Callable[..., Plan]
MANY = "matrix: {seed: {range: [1, 99]}}\nmeasure: {repetitions: 1%s}\nslurm:\n  time: '00:10:00'\n"
PACKED = "  pack_walltime: '00:35:00'\n"
PARALLEL = PACKED + "  pack: parallel\n"
PARTITIONS = """\
partitions:
  cpu: {default: true, cpus_per_node: 16, memory_mb_per_node: 64000}
  gpu: {cpus_per_node: 32, gpus_per_node: 4, memory_mb_per_node: 100000}
  small: {cpus_per_node: 8}
"""


def shared(made: Plan) -> tuple[int, int]:
    """Turns and width."""
    (job,) = made.jobs
    return len(job.packs[0]) // job.width, job.width


@pytest.mark.parametrize(
    ("parameters", "options", "expected"),
    [
        ("", "", (1, 1)),
        ("", PACKED, (3, 1)),
        ("", PARALLEL, (3, 16)),
        ("  cpus_per_task: 5\n", PARALLEL, (3, 3)),
        ("  cpus_per_task: 9\n", PARALLEL, (3, 1)),
        ("  strategy: ddp\n  tasks_per_node: 2\n  cpus_per_task: 2\n", PARALLEL, (3, 4)),
        ("", PARALLEL + "  mem: 10G\n", (3, 6)),
        ("  cpus_per_task: 2\n", PARALLEL + "  mem_per_cpu: 8000\n", (3, 4)),
        ("", PARALLEL + "  mem: 0\n", (3, 16)),  # all that a node has, which they share
        ("", PARALLEL + "  partition: small\n  mem: 10G\n", (3, 8)),  # whose memory is not known
        ("", PARALLEL + "  partition: cpu,small\n", (3, 8)),  # whichever starts first
        ("  device: gpu\n", PARALLEL + "  partition: gpu\n", (3, 4)),
        ("  device: gpu\n  cpus_per_task: 10\n", PARALLEL + "  partition: gpu\n", (3, 3)),
        ("  device: gpu\n  gpus_per_task: 3\n", PARALLEL + "  partition: gpu\n", (3, 1)),
        ("  strategy: ddp\n  nodes: 2\n", PARALLEL, (3, 1)),  # several nodes are shared by none
    ],
)
def test_as_many_share_a_job_as_the_time_and_the_node_have_room_for(
    plan: MakePlan, parameters: str, options: str, expected: tuple[int, int]
) -> None:
    assert shared(plan(parameters + MANY % "" + options, site=PARTITIONS)) == expected


@pytest.mark.parametrize(
    ("parameters", "partition", "site", "words"),
    [
        ("", "", "", "the number of CPUs per node of partition 'None' is unknown"),
        ("", "", "partitions: {a: {default: true}}", "the number of CPUs per node of partition 'a' is unknown"),
        (
            "  device: gpu\n",
            "  partition: small\n",
            PARTITIONS,
            "the number of GPUs per node of partition 'small' is unknown",
        ),
    ],
)
def test_how_many_fit_must_be_known(plan: MakePlan, parameters: str, partition: str, site: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(parameters + MANY % "" + PARALLEL + partition, site=site)
    assert words in str(caught.value)
    assert "slurm.pack" in str(caught.value)
    assert "add it to the site file, e.g. partitions:" in str(caught.value)


@pytest.mark.parametrize("quiet", ["wait", "require"])
def test_a_quiet_node_and_neighbours_cannot_both_be_had(plan: MakePlan, quiet: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(MANY % f", idle_node: {quiet}" + PARALLEL, site=PARTITIONS)
    assert f"measure.idle_node: {quiet} cannot be used with slurm.pack: parallel" in str(caught.value)
    assert "use pack: serial, or idle_node: ignore" in str(caught.value)
    assert shared(plan(MANY % f", idle_node: {quiet}" + PACKED, site=PARTITIONS)) == (3, 1)


def test_on_a_machine_without_a_scheduler_each_runs_alone() -> None:
    document = parse_yaml("name: a\nparameters: {framework: pytorch, model: mlp}\n" + MANY % "" + PARALLEL, "a.yaml")
    site = load_site(parse_yaml("name: a\nscheduler: local\nenvironments: {pytorch: {}}\n", "site.yaml"))
    assert shared(make_plan(load_experiment(document), document, site)) == (1, 1)


@pytest.mark.parametrize("launch", ["mpirun", "none"])
def test_concurrent_runs_require_srun(plan: MakePlan, launch: str) -> None:
    program = ("framework=command", "model=null", "command=./a", f"launch={launch}")
    with pytest.raises(UserError, match=f"launch: {launch} cannot be used with slurm.pack: parallel"):
        plan(MANY % "" + PARALLEL, *program, site=PARTITIONS)
    assert shared(plan(MANY % "" + PACKED, *program, site=PARTITIONS)) == (3, 1)
