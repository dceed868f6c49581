"""Where CPUs are, from made-up trees of /sys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.node.host import topology
from hpcbench.node.host.topology import Cpu


def files(cpus: dict[int, tuple[str, int]], nodes: dict[int, str]) -> dict[str, str]:
    """Of each CPU its siblings and socket; of each NUMA node its CPUs."""
    laid = {}
    for cpu, (siblings, socket) in cpus.items():
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        laid |= {f"{folder}/thread_siblings_list": siblings, f"{folder}/physical_package_id": str(socket)}
    return laid | {f"sys/devices/system/node/node{node}/cpulist": text for node, text in nodes.items()}


def test_cores_sockets_and_numa_nodes_are_read(lay: Callable[..., Any]) -> None:
    cpus = {0: ("0,4", 0), 1: ("1,5", 0), 2: ("2,6", 1), 4: ("0,4", 0), 6: ("2,6", 1)}
    system = lay(files(cpus, {0: "0-1,4-5", 10: "2-3,6-7"}), cpus=[0, 1, 2, 4, 6])
    assert topology.read(system) == [
        Cpu(0, 0, 0, 0),
        Cpu(1, 1, 0, 0),
        Cpu(2, 2, 1, 10),
        Cpu(4, 0, 0, 0),
        Cpu(6, 2, 1, 10),
    ]


def test_a_machine_that_tells_nothing_has_a_core_for_each_cpu_and_one_node(lay: Callable[..., Any]) -> None:
    assert topology.read(lay({}, cpus=[3, 5])) == [Cpu(3, 3, 0, 0), Cpu(5, 5, 0, 0)]


def test_a_socket_that_a_virtual_machine_calls_minus_one_is_the_first(lay: Callable[..., Any]) -> None:
    assert topology.read(lay(files({0: ("0", -1)}, {}), cpus=[0])) == [Cpu(0, 0, 0, 0)]


@pytest.mark.parametrize(
    ("siblings", "cpus", "cores"),
    [
        ({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, [0, 1, 2, 3], 2),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, [0, 1], 2),
        ({0: "0,4", 1: "1,5", 4: "0,4", 5: "1,5"}, [0, 4], 1),
        ({0: "0"}, [0, 1], None),
    ],
    ids=["all threads", "one thread of each", "two threads of one", "not told of one"],
)
def test_physical_cores_are_those_that_the_cpus_are_on(
    lay: Callable[..., Any], siblings: dict[int, str], cpus: list[int], cores: int | None
) -> None:
    system = lay(files({cpu: (text, 0) for cpu, text in siblings.items()}, {}), cpus=cpus)
    assert topology.physical_cores(system) == cores


@pytest.mark.parametrize(
    ("cores", "ordered"),
    [
        ({0: 0, 1: 0, 2: 2, 3: 2}, [0, 2, 1, 3]),
        ({0: 0, 1: 1, 4: 0, 5: 1}, [0, 1, 4, 5]),
        ({1: 0, 2: 2, 3: 2}, [1, 2, 3]),
        ({0: 0, 1: 0, 2: 0, 3: 0, 4: 4, 5: 4}, [0, 4, 1, 5, 2, 3]),
        ({3: 3, 5: 5, 8: 8}, [3, 5, 8]),
    ],
    ids=["neighbours", "far apart", "one is not ours", "four in a core", "one thread each"],
)
def test_the_first_cpus_are_of_different_cores(cores: dict[int, int], ordered: list[int]) -> None:
    cpus = [Cpu(number, core, 0, 0) for number, core in cores.items()]
    assert [cpu.number for cpu in topology.cores_first(cpus)] == ordered
