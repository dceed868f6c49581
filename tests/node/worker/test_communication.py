"""When the bytes of a step are not measured. That they are measured: tests/frameworks/test_communication.py."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.core.training.communication import Communication
from hpcbench.models.communication_volume import Exchange
from hpcbench.node.host import tcp_sockets
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.communication import Meter


def metered(exchange: Exchange) -> Communication:
    """The communication of two steps without any, of a network that says that it has this exchange."""
    network: Any = SimpleNamespace(problem=SimpleNamespace(group=Group(Ranks(0, 1))), exchange=lambda: exchange)
    meter = Meter(network)
    meter.begin()
    return meter.end(0, 2)


@pytest.mark.parametrize(("strategy", "measured"), [("ddp", None), ("kvstore", 0.0)])
def test_bytes_of_nccl_are_not_measured(strategy: str, measured: float | None) -> None:
    found = metered(Exchange(strategy, 4, 1000, 1000, on_gpu=True))
    assert found.bytes_per_step == measured
    assert (found.reason is None) == (measured is not None)
    assert found.expected_bytes_per_step == (1500 if strategy == "ddp" else 1000)
    if found.reason:
        assert found.reason.startswith("GPUs communicate through NCCL")
        assert found.ratio is found.steps is None


def test_an_old_kernel_is_the_reason_for_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_sockets, "_SIZE", 1000)
    with socket.create_server(("127.0.0.1", 0)):
        found = metered(Exchange("ddp", 2, 1000, 1000))
    assert found.bytes_per_step is None
    assert "Linux 4.19" in (found.reason or "")
