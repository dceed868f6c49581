"""The mean clock of the GPUs of a run, from the readings of its monitors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.collect.gpu_clock import gpu_clock_mhz
from hpcbench.core.record import Record

GPU = {"device": "gpu", "gpus_per_task": 1}


def node(host: str, usage: Any) -> dict[str, Any]:
    return {"host": host, "duration_s": 1.0, "energy": [], "usage": usage, "absent": {}}


def ranks(*hosts: str) -> list[dict[str, Any]]:
    return [{"rank": number, "host": host, "gpus": ["a GPU"], "ended_at": ""} for number, host in enumerate(hosts)]


def clock(**means: float) -> dict[str, Any]:
    return {f"{name}.clock_sm_mhz": [mean - 10.0, mean, mean + 90.0] for name, mean in means.items()}


@pytest.mark.parametrize(
    ("nodes", "hosts", "expected"),
    [
        ([node("n1", clock(gpu0=1200.0, gpu1=210.0))], ["n1"], 1200.0),
        ([node("n1", clock(gpu0=1200.0, gpu1=1000.0))], ["n1", "n1"], 1100.0),
        ([node("n1", clock(gpu0=1200.0)), node("n2", clock(gpu0=900.0))], ["n1", "n2"], 1050.0),
        ([node("n1", {})], ["n1"], None),
        ([{"host": "n1", "duration_s": 1.0, "energy": []}], ["n1"], None),
        ([node("n1", {"gpu0.clock_sm_mhz": 1200.0})], ["n1"], None),
        ([node("n1", {"gpu0.clock_sm_mhz": [1, "fast", 2]})], ["n1"], None),
        ([], ["n1"], None),
    ],
)
def test_the_clock_is_the_mean_over_the_gpus_of_the_case(
    make_record: Callable[..., Record], nodes: list[dict[str, Any]], hosts: list[str], expected: float | None
) -> None:
    record = make_record(parameters=GPU, monitors=nodes, ranks=ranks(*hosts))
    assert gpu_clock_mhz(record) == expected


def test_a_case_on_cpus_has_no_gpu_clock(make_record: Callable[..., Record]) -> None:
    assert gpu_clock_mhz(make_record(monitors=[node("n1", clock(gpu0=1200.0))])) is None
