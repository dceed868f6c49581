"""Bytes of NCCL at the ports of two nodes with fake counters: two threads are the ranks, and no GPU communicates."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.training.communication import Communication
from hpcbench.models.communication_volume import Exchange
from hpcbench.node.host import tcp_sockets
from hpcbench.node.host.tcp_sockets import Traffic
from hpcbench.node.launch import ports
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group, Member
from hpcbench.node.worker import port_counters, worker
from hpcbench.node.worker.communication import Meter

SIZE = 10_000_000  # of the gradients: with two ranks, a ring all-reduce sends as many bytes
STEPS = 4
STEP_S = 0.5
TWO_NODES = (Member("10.0.0.1", "n1"), Member("10.0.0.2", "n2"))


class Traffics(NamedTuple):
    """Bytes of each rank: those of one step and of a second of the background, sent, and twice as many received."""

    network: int = 0
    infiniband: int = 0
    background: int = 0  # through both kinds of ports
    sockets: int = 0


class FakeNode:
    """A node whose clock and counters advance only when the test says so."""

    def __init__(self, root: Path, traffic: Traffics, kinds: str) -> None:
        self.root, self.traffic, self.kinds = root, traffic, kinds
        self.now_s, self.network, self.infiniband, self.sockets = 1000.0, 5e9, 7e9, 0
        self._write()

    def idle(self, seconds: float) -> None:
        self.now_s += seconds
        self.network += self.traffic.background * seconds
        self.infiniband += self.traffic.background * seconds
        self._write()

    def step(self) -> None:
        self.network += self.traffic.network
        self.infiniband += self.traffic.infiniband
        self.sockets += self.traffic.sockets
        self.idle(STEP_S)

    def _write(self) -> None:
        net, ib = "sys/class/net/eno1", "sys/class/infiniband/mlx5_0/ports/1/counters"
        files = {}
        if "network" in self.kinds:
            files[f"{net}/statistics/tx_bytes"] = int(self.network)
            files[f"{net}/statistics/rx_bytes"] = 2 * int(self.network)
            files[f"{net}/device/vendor"] = 0x8086
        if "infiniband" in self.kinds:
            files[f"{ib}/port_xmit_data"] = int(self.infiniband) // 4
            files[f"{ib}/port_rcv_data"] = 2 * int(self.infiniband) // 4
        for name, value in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(f"{value}\n")


Measure = Callable[..., list[Communication]]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """The communication of a measured training, as each of its two ranks has it."""
    own = threading.local()
    clock = SimpleNamespace(monotonic=lambda: own.node.now_s, sleep=lambda seconds: own.node.idle(seconds))
    monkeypatch.setattr(port_counters, "time", clock)
    monkeypatch.setattr(tcp_sockets, "connections", lambda: {7: Traffic(own.node.sockets, 2 * own.node.sockets)})

    def communication_of(group: Group, node: FakeNode, owns_nodes: bool) -> Communication:
        exchange = Exchange("ddp", 2, SIZE, SIZE, on_gpu=True)
        network: Any = SimpleNamespace(problem=SimpleNamespace(group=group), exchange=lambda: exchange)
        meter = Meter(network, owns_nodes, str(node.root))
        node.step()  # of the warm-up
        meter.begin()
        for _ in range(STEPS):
            node.step()
        return meter.end(1, STEPS)

    def measure(
        *traffic: Traffics,
        owns_nodes: bool = True,
        members: tuple[Member, ...] = TWO_NODES,
        kinds: tuple[str, str] = ("network infiniband", "network infiniband"),
    ) -> list[Communication]:
        held, port = ports.claim(random.randrange(ports.COUNT))  # other tests claim ports at the same time
        held.close()

        def rank_of(rank: int) -> Communication:
            own.node = FakeNode(tmp_path / str(rank), traffic[rank % len(traffic)], kinds[rank])
            group = Group(Ranks(rank, 2, meeting=port - ports.FIRST, token=str(tmp_path), host=members[rank].host))
            group.members = list(members)
            try:
                found = communication_of(group, own.node, owns_nodes)
                group.gather(None)
                return found
            finally:
                group.close()  # the other rank must not wait for one that has failed

        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(rank_of, range(2)))
        assert found[0] == found[1], "both ranks record the same"
        return found

    return measure


def test_bytes_at_infiniband_ports_are_counted_without_the_background(measure: Measure) -> None:
    found = measure(Traffics(infiniband=SIZE, background=3_000_000, network=1000))[0]
    assert (found.source, found.reason, found.steps) == ("ports", None, STEPS)
    assert found.sent_bytes == [STEPS * SIZE] * 2
    assert found.received_bytes == [2 * STEPS * SIZE] * 2
    assert found.bytes_per_step == 1.5 * SIZE, "the mean of both directions"
    assert found.ratio == 1.5


def test_each_node_has_its_own_background(measure: Measure) -> None:
    found = measure(Traffics(infiniband=SIZE, background=8_000_000), Traffics(infiniband=SIZE))[0]
    assert found.sent_bytes == [STEPS * SIZE] * 2


def test_the_kind_of_port_with_more_bytes_counts_and_not_the_sum(measure: Measure) -> None:
    over_ipoib = measure(Traffics(infiniband=SIZE + 40_000, network=SIZE))[0]
    assert over_ipoib.sent_bytes == [STEPS * (SIZE + 40_000)] * 2
    assert measure(Traffics(network=SIZE))[0].sent_bytes == [STEPS * SIZE] * 2


def test_the_background_does_not_make_bytes_negative(measure: Measure) -> None:
    found = measure(Traffics(infiniband=3 * SIZE), Traffics(infiniband=-4, background=400))[0]
    assert found.sent_bytes == [3 * STEPS * SIZE, 0]


def test_nccl_over_tcp_is_counted_at_its_connections(measure: Measure) -> None:
    found = measure(Traffics(network=int(1.05 * SIZE), sockets=SIZE))[0]
    assert (found.source, found.sent_bytes) == ("tcp", [STEPS * SIZE] * 2)


def test_few_bytes_of_connections_do_not_hide_those_at_the_ports(measure: Measure) -> None:
    found = measure(Traffics(network=SIZE, sockets=SIZE // 3))[0]
    assert (found.source, found.sent_bytes) == ("ports", [STEPS * SIZE] * 2)


@pytest.mark.parametrize("sockets", [0, 400])
def test_a_fabric_that_counts_elsewhere_has_no_measurement(measure: Measure, sockets: int) -> None:
    found = measure(Traffics(network=500, sockets=sockets))[0]
    assert found.bytes_per_step is found.ratio is found.source is None
    assert "the port counters do not contain NCCL's traffic" in (found.reason or "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"owns_nodes": False}, "the job may share its nodes"),
        ({"members": (Member("10.0.0.1", "n1"),) * 2}, "all tasks are on one node"),
        ({"members": (Member("10.0.0.1", "n1"), Member("10.0.0.1", "n2"))}, "all tasks are on one node"),
        (
            {"kinds": ("network", "")},
            "no physical network interface: a container sees only virtual ones; no InfiniBand",
        ),
    ],
)
def test_without_ports_of_its_own_a_run_has_no_measurement(
    measure: Measure, changes: dict[str, Any], reason: str
) -> None:
    found = measure(Traffics(network=SIZE, infiniband=SIZE), **changes)[0]
    assert found.bytes_per_step is found.ratio is found.source is None
    assert found.expected_bytes_per_step == SIZE
    assert (found.reason or "").startswith("GPUs communicate through NCCL")
    assert reason in (found.reason or "")


def test_a_kind_of_port_that_one_node_lacks_is_not_counted(measure: Measure) -> None:
    found = measure(Traffics(network=SIZE, infiniband=2 * SIZE), kinds=("network infiniband", "network"))[0]
    assert found.sent_bytes == [STEPS * SIZE] * 2


def test_several_tasks_of_a_node_share_its_ports() -> None:
    group: Any = SimpleNamespace(size=3, members=[*TWO_NODES, TWO_NODES[1]])
    assert port_counters.PortCounters(group, True).missing == "several tasks share a node"


@pytest.mark.parametrize("owns_nodes", [False, True])
def test_a_planned_run_says_whether_ports_are_its_own(
    monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun], *, owns_nodes: bool
) -> None:
    meters: list[tuple[Any, ...]] = []

    class StopError(Exception):
        """Ends the test before the measurement."""

    def meter_of(*arguments: Any) -> None:
        meters.append(arguments)
        raise StopError

    monkeypatch.setattr(worker, "Meter", meter_of)
    planned = make_planned(task="training", strategy="ddp", tasks_per_node=2)._replace(owns_nodes=owns_nodes)
    network: Any = SimpleNamespace(problem=SimpleNamespace(parameters=planned.parameters, parallel=True))
    with pytest.raises(StopError):
        worker._sampled(network, lambda: None, planned, Group(Ranks(0, 1)), {})
    assert meters == [(network, owns_nodes)]
