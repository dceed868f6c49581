"""How long a power window is, by the meters in the header of a mock timeline."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.power_window import length_s
from hpcbench.node.monitor.timeline import Timeline

COUNTER = {"domain": "gpu0", "counter": "e", "counter_sensor": "nvidia hopper energy counter"}
AVERAGED = {"domain": "gpu0", "power": "p", "power_sensor": "nvidia ampere average power"}
RAPL = {"domain": "cpu0", "counter": "c", "counter_sensor": "rapl"}
DRAM = {"domain": "dram0", "counter": "c", "counter_sensor": "rapl"}


def with_meters(**sources: Any) -> Timeline:
    facts = {name: {"meters": meters} for name, meters in sources.items()}
    return Timeline({"host": "n1", "gauges": [], "facts": facts, "absent": {}}, {}, None)


@pytest.mark.parametrize(
    ("sources", "on_gpu", "expected_s"),
    [
        ({"rapl": [RAPL, DRAM]}, False, 2.01),
        ({"rapl": [RAPL]}, True, None),
        ({"rapl": [DRAM]}, False, None),
        ({"nvidia_energy": [COUNTER]}, True, 3.0),
        ({"nvidia_energy": [AVERAGED]}, True, 13.0),
        ({"nvidia_energy": [{**COUNTER, "counter_sensor": "of the future"}]}, True, None),
        ({}, False, None),
    ],
)
def test_the_best_sensor_of_the_device_decides(sources: Any, on_gpu: bool, expected_s: float | None) -> None:
    found = length_s(with_meters(**sources), on_gpu)
    assert found == (None if expected_s is None else pytest.approx(expected_s))
