"""When the bytes of a step are not measured. That they are measured: tests/frameworks/test_communication.py."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.samples import Samples
from hpcbench.core.training.communication import Communication
from hpcbench.models.communication_volume import Exchange
from hpcbench.node.host import tcp_sockets
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker import worker
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


@pytest.mark.parametrize(("taken", "warned"), [(16, False), (1, True)])
def test_measurements_contain_the_averaging_of_local_sgd(
    monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun], *, taken: int, warned: bool
) -> None:
    asked: list[int] = []

    def measure(*arguments: Any, period: int, **others: Any) -> Samples:
        asked.append(period)
        return Samples(times_s=[1.0], windows=[], steps_per_measurement=taken)

    monkeypatch.setattr(worker.timing, "measure", measure)
    problem = SimpleNamespace(parameters={"task": "training"}, parallel=False, averaging_period=8)
    network: Any = SimpleNamespace(problem=problem, synchronize=None, context=nullcontext)
    facts: dict[str, Any] = {"warnings": []}
    worker._sampled(network, lambda: None, make_planned(), Group(Ranks(0, 1)), facts)
    assert asked == [8]
    assert [warning.startswith("8 steps (averaging_period)") for warning in facts["warnings"]] == [True] * warned
