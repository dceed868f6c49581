"""What a job takes: what it asks for, or whole nodes."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.pricing import Allocation
from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.plan.allocation import allocation_of
from hpcbench.plan.packing import Resources

PARTITIONS = {"main": {"default": True, "cpus_per_node": 48}, "gpu": {"cpus_per_node": 40, "gpus_per_node": 4}}


def resources(gpus: int = 0, **slurm: Any) -> Resources:
    return Resources(2, 3, 4, gpus, "pytorch", SlurmOptions(**slurm))


def site(scheduler: str = "slurm", partitions: Any = PARTITIONS) -> Site:
    return Site.model_validate({"name": "cluster", "scheduler": scheduler, "partitions": partitions})


@pytest.mark.parametrize(
    ("asked", "width", "cpus", "expected"),
    [
        (resources(), 1, 96, Allocation(2, 24, 0)),
        (resources(gpus=1), 2, None, Allocation(2, 48, 12)),
        (resources(exclusive=True), 1, None, Allocation(2, 96, 0, True)),
        (resources(exclusive=True), 1, 128, Allocation(2, 128, 0, True)),  # as the nodes themselves have told
        (resources(exclusive=True, partition="gpu"), 1, None, Allocation(2, 80, 8, True)),
        (resources(gpus=1, exclusive=True, partition="gpu"), 1, None, Allocation(2, 80, 8, True)),
        (resources(gpus=1, exclusive=True), 1, None, Allocation(2, 96, 6, True, "the number of GPUs per node")),
        (resources(exclusive=True, partition="x"), 1, None, Allocation(2, 24, 0, True, "the number of CPUs per node")),
        (resources(exclusive=True, partition="x"), 1, 96, Allocation(2, 96, 0, True)),
    ],
)
def test_a_job_takes_what_it_asks_for_or_whole_nodes(
    asked: Resources, width: int, cpus: int | None, expected: Allocation
) -> None:
    assert allocation_of(asked, site(), width, cpus) == expected


def test_without_a_scheduler_the_node_is_whole_and_the_cores_are_those_asked_for() -> None:
    assert allocation_of(resources(exclusive=True), site("local"), 1, 8) == Allocation(2, 24, 0, True)
