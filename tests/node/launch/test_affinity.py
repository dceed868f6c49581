"""Which CPUs each instance gets, on made-up machines. What is expected was drawn by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.host.topology import Cpu
from hpcbench.node.launch.affinity import places

POLICIES = [None, "compact", "scatter", "numa", "cores"]

# Two sockets of four cores with two hardware threads each, one NUMA node a socket, numbered as Linux does on most
# servers: CPUs 0-3 are the cores of the first socket, 4-7 those of the second, 8-15 their second hardware threads.
SERVER = [Cpu(number, number % 8, number % 8 // 4, number % 8 // 4) for number in range(16)]
# Two cores without second threads, as on a small virtual machine.
SMALL = [Cpu(number, number, 0, 0) for number in range(2)]


@pytest.mark.parametrize(
    ("policy", "threads", "expected"),
    [
        (None, None, list(range(16))),
        (None, 4, list(range(16))),  # its threads float
        ("compact", None, list(range(16))),
        ("compact", 4, [0, 1, 8, 9]),  # two cores with both of their threads
        ("scatter", 2, [0, 4]),
        ("scatter", 4, [0, 1, 4, 5]),
        ("scatter", 8, [0, 1, 2, 3, 4, 5, 6, 7]),  # hardware threads last
        ("scatter", 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 12]),
        ("numa", 4, [0, 1, 2, 3]),  # one node, each on a core
        ("numa", 8, [0, 1, 2, 3, 8, 9, 10, 11]),
        ("numa", 9, [0, 1, 2, 3, 4, 5, 6, 7, 8]),  # more than a node has: cores first
        ("numa", None, list(range(16))),
        ("cores", None, [0, 1, 2, 3, 4, 5, 6, 7]),
        ("cores", 3, [0, 1, 2]),
        ("cores", 12, [0, 1, 2, 3, 4, 5, 6, 7]),  # there are no more
    ],
)
def test_one_instance(policy: str | None, threads: int | None, expected: list[int]) -> None:
    assert places(SERVER, 1, threads, policy) == [expected]


@pytest.mark.parametrize(
    ("policy", "threads", "expected"),
    [
        (None, 4, [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]),
        ("compact", 2, [[0, 8], [4, 12]]),
        ("scatter", 2, [[0, 4], [2, 6]]),
        ("scatter", None, [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]]),
        ("numa", 2, [[0, 1], [4, 5]]),
        ("numa", None, [[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]),
        ("cores", None, [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ],
)
def test_two_instances_share_no_core(policy: str | None, threads: int | None, expected: list[list[int]]) -> None:
    assert places(SERVER, 2, threads, policy) == expected


def test_three_instances_within_two_numa_nodes_leave_no_node_idle() -> None:
    assert places(SERVER, 3, None, "numa") == [[0, 1, 8, 9], [2, 3, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]]


def test_compact_would_put_the_second_of_three_instances_across_two_sockets() -> None:
    """Which is what `numa` is for."""
    assert places(SERVER, 3, None, "compact") == [[0, 1, 2, 8, 9, 10], [3, 4, 5, 11, 12], [6, 7, 13, 14, 15]]


def test_holes_in_the_cpu_set_are_left_out() -> None:
    """Of the first socket one core and a half, of the second one whole core and two single threads."""
    usable = [cpu for cpu in SERVER if cpu.number in (1, 2, 9, 4, 12, 13, 7)]
    assert places(usable, 1, None, "cores") == [[1, 2, 4, 7, 13]]
    assert places(usable, 1, 3, "numa") == [[4, 7, 13]]  # the node with more CPUs, each on a core of its own
    assert places(usable, 2, None, "numa") == [[1, 2, 9], [4, 7, 12, 13]]
    assert places(usable, 1, 2, "scatter") == [[1, 4]]


def test_sub_numa_clusters_are_nodes_of_their_own() -> None:
    """Two nodes in one socket, as with sub-NUMA clustering: the second node's CPUs come between the first one's."""
    cpus = [Cpu(number, number, 0, number % 2) for number in range(8)]
    assert places(cpus, 2, None, "numa") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert places(cpus, 1, 4, "compact") == [[0, 2, 4, 6]]
    assert places(cpus, 1, 4, "scatter") == [[0, 1, 2, 3]]


def test_more_instances_than_cpus_take_turns() -> None:
    assert places(SMALL, 5, None, None) == [[0], [1], [0], [1], [0]]
    assert places(SERVER, 9, None, "cores") == [[cpu] for cpu in (0, 1, 2, 3, 4, 5, 6, 7, 0)]


def test_more_instances_than_cpus_at_each_numa_node_take_turns_there() -> None:
    cpus = [Cpu(0, 0, 0, 0), Cpu(1, 1, 0, 1)]
    assert sorted(places(cpus, 3, None, "numa")) == [[0], [0], [1]]


machines = st.lists(
    st.builds(Cpu, st.integers(0, 63), st.integers(0, 15), st.just(0), st.just(0)),
    min_size=1,
    max_size=32,
    unique_by=lambda cpu: cpu.number,
).map(lambda cpus: [cpu._replace(node=cpu.core % 3, socket=cpu.core % 3 // 2) for cpu in cpus])


@given(machines, st.integers(1, 40), st.none() | st.integers(1, 40), st.sampled_from(POLICIES))
def test_on_any_machine_every_instance_gets_cpus_and_none_gets_anothers(
    cpus: list[Cpu], instances: int, threads: int | None, policy: str | None
) -> None:
    found = places(cpus, instances, threads, policy)
    numbers = {cpu.number for cpu in cpus}
    assert len(found) == instances
    assert all(part and set(part) <= numbers for part in found)
    cores = len({cpu.core for cpu in cpus})
    if instances <= (cores if policy == "cores" else len(cpus)) and (policy != "numa" or instances == 1):
        assert sum(map(len, found)) == len(set().union(*found))
    if policy and threads:
        assert max(map(len, found)) <= threads


@given(machines, st.integers(1, 40))
def test_numa_shares_out_all_cpus_and_doubles_none_where_there_are_enough(cpus: list[Cpu], instances: int) -> None:
    found = places(cpus, instances, None, "numa")
    if instances <= len(cpus):
        assert sorted(cpu for part in found for cpu in part) == sorted(cpu.number for cpu in cpus)
