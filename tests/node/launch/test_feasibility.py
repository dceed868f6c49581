"""Whether there are CPUs for the threads of a case, and GPUs for a command, on made-up machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.node.host import gpus
from hpcbench.node.launch.feasibility import _too_few_gpus, room_for_threads

V2 = {"proc/self/cgroup": "0::/job\n"}


def quota(cpus: float) -> dict[str, str]:
    return {**V2, "sys/fs/cgroup/job/cpu.max": f"{cpus * 100000:.0f} 100000\n"}


@pytest.mark.parametrize("name", ["intra_op_threads", "inter_op_threads"])
def test_more_threads_than_the_cpu_set_has_are_refused_with_both_numbers(
    lay: Callable[..., Any], make_planned: Callable[..., Any], name: str
) -> None:
    system = lay({}, cpus=[2, 3, 8])
    assert room_for_threads(make_planned(**{name: 3}), system) is None
    told = room_for_threads(make_planned(**{name: 4}), system)
    assert told == f"{name}: 4 threads, and this process may use 3 CPUs (2-3,8); `oversubscribe: true` allows it"


def test_more_threads_than_the_quota_has_are_refused_and_the_group_is_named(
    lay: Callable[..., Any], make_planned: Callable[..., Any]
) -> None:
    system = lay(quota(2), cpus=list(range(8)))
    assert room_for_threads(make_planned(intra_op_threads=2), system) is None
    told = room_for_threads(make_planned(intra_op_threads=3), system)
    assert told
    assert "3 threads, and this process has a quota of 2 CPUs (cgroup /sys/fs/cgroup/job)" in told


def test_a_part_of_a_cpu_counts_as_one(lay: Callable[..., Any], make_planned: Callable[..., Any]) -> None:
    system = lay(quota(0.5), cpus=[0, 1])
    assert room_for_threads(make_planned(intra_op_threads=1), system) is None
    assert room_for_threads(make_planned(intra_op_threads=2), system)


def test_a_quota_is_that_of_all_instances_together_and_a_cpu_set_each_ones_own(
    lay: Callable[..., Any], make_planned: Callable[..., Any]
) -> None:
    planned = make_planned(intra_op_threads=2, instances=2)
    assert room_for_threads(planned, lay(quota(4), cpus=[0, 1])) is None
    told = room_for_threads(planned, lay(quota(3), cpus=[0, 1]))
    assert told
    assert "4 threads" in told


def test_who_says_so_may_have_more(lay: Callable[..., Any], make_planned: Callable[..., Any]) -> None:
    planned = make_planned(intra_op_threads=9, inter_op_threads=9, oversubscribe=True)
    assert room_for_threads(planned, lay(quota(1), cpus=[0])) is None


def test_the_frameworks_own_choice_is_not_judged(lay: Callable[..., Any], make_planned: Callable[..., Any]) -> None:
    assert room_for_threads(make_planned(), lay(quota(0.1), cpus=[0])) is None


@pytest.mark.parametrize(
    ("parameters", "found", "device", "told"),
    [
        ({"gpus_per_task": 1}, 0, None, "the case requests 1 GPU, but no GPU was found on this machine"),
        ({"gpus_per_task": 2, "tasks_per_node": 2}, 3, None, "requests 4 GPUs, but this machine has 3"),
        ({"gpus_per_task": 2}, 2, None, None),
        ({"gpus_per_task": 0}, 0, None, None),
        ({"gpus_per_task": 1}, 0, "dev/kfd", None),
        ({"gpus_per_task": 1, "framework": "pytorch", "device": "gpu"}, 0, None, None),
    ],
)
def test_more_gpus_than_the_driver_shows_are_refused_for_a_command(
    parameters: dict[str, Any],
    found: int,
    device: str | None,
    told: str | None,
    lay: Callable[..., Any],
    make_planned: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpus, "count", lambda: found)
    system = lay({device: ""} if device else {}, cpus=[0])
    planned = make_planned()
    given = {"framework": "command", "gpus_per_task": 0, **parameters}
    said = _too_few_gpus(planned._replace(parameters={**planned.parameters, **given}), system)
    assert said is None if told is None else told in (said or "")
