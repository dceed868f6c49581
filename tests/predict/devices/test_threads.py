"""Fewer threads than cores reach a part of the peaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.devices.device import CPU, Device, Scaling
from hpcbench.predict.devices.threads import thread_fractions

CPUS = Device("some-cpu", "Intel", "Lake", 2020, 16, 3500, 2e12, 1e12, 100e9, 2**24, 150, kind=CPU)
GPU = replace(CPUS, name="some-gpu", kind="gpu")
MEASURED = replace(
    CPUS,
    name="node",
    scaling=(Scaling(1, 1.6e11, 20e9), Scaling(2, 3e11, 40e9), Scaling(4, 6e11, 80e9), Scaling(16, 2e12, 80e9)),
)
DEVICES = {device.name: device for device in (CPUS, GPU, MEASURED)}


def fractions(device: str, *threads: float) -> tuple[list[float], list[float]]:
    compute, memory = thread_fractions(pd.DataFrame({"device": device, "threads": threads}), DEVICES)
    return compute.tolist(), memory.tolist()


def test_measured_peaks_are_interpolated() -> None:
    compute, memory = fractions("node", 1, 3, 4, 10, 16, 64)
    assert compute == pytest.approx([0.08, 0.225, 0.3, 0.65, 1, 1])
    assert memory == pytest.approx([0.25, 0.75, 1, 1, 1, 1])


def test_without_measurements_a_quarter_of_the_cores_reaches_the_bandwidth() -> None:
    compute, memory = fractions("some-cpu", 1, 4, 8, 16)
    assert compute == pytest.approx([1 / 16, 0.25, 0.5, 1])
    assert memory == pytest.approx([0.25, 1, 1, 1])


@pytest.mark.parametrize(("device", "threads"), [("some-gpu", 1), ("other", 1), ("node", np.nan)])
def test_all_other_rows_reach_their_peaks(device: str, threads: float) -> None:
    assert fractions(device, threads) == ([1.0], [1.0])


def test_an_unmeasured_bandwidth_is_not_zero() -> None:
    bare = replace(MEASURED, scaling=(Scaling(1, 1e11, 0), Scaling(16, 1.6e12, 0)))
    _, memory = thread_fractions(pd.DataFrame({"device": ["node"], "threads": [2]}), {"node": bare})
    assert memory == pytest.approx([0.5])


def test_a_core_is_not_slower_alone_than_next_to_others() -> None:
    """A peak that was measured while another guest used the core is too low."""
    disturbed = replace(MEASURED, scaling=(Scaling(1, 0.5e11, 4e9), Scaling(16, 1.6e12, 80e9)))
    compute, memory = thread_fractions(pd.DataFrame({"device": ["node"], "threads": [1]}), {"node": disturbed})
    assert (compute.item(), memory.item()) == pytest.approx((1 / 16, 1 / 16))
