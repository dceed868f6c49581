"""Measurements in wrong units, with numbers by hand."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from hpcbench.predict.sets.implausible import implausible
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import DEVICES, FIRST, gemm, row_wise


def measured(device: str, *rows: dict[str, object]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows)).assign(device=device, file="a.csv", row=range(3, 3 + len(rows)))
    return table.complete(frame)


def test_products_far_above_the_peak_rate_are_named() -> None:
    size = 1024  # 2 x 1024^3 FLOPs take 0.215 ms at 10 TFLOP/s
    rows = [gemm(size, size, size, time_s=time_s) for time_s in (2.2e-4, 1e-4, 2.2e-5, 2.1e-5)]
    (found,) = implausible(measured("first", *rows), DEVICES)
    what = "first: 1 row over 10 times faster than the peak rate of the device"
    assert found == f"{what}, for example row 6 (line 8) of a.csv: check the unit of the times"


def test_power_far_above_that_of_the_board_is_named() -> None:
    rows = [gemm(64, 64, 64, time_s=1e-5, power_w=power) for power in (250.0, 899.0, 250e3)]
    found = implausible(measured("first", *rows), {"first": replace(FIRST, board_power_w=300.0)})
    assert len(found) == 1
    where = "for example row 5 (line 7) of a.csv"
    assert f"first: 1 row with over 3 times the board power of the device, {where}" in found[0]


def test_operators_in_the_cache_and_unknown_devices_are_not_named() -> None:
    rows = [row_wise(1024, 1024, time_s=1e-9), gemm(64, 64, 64, time_s=1e-4)]
    assert implausible(measured("first", *rows), DEVICES) == []
    assert implausible(measured("other", gemm(4096, 4096, 4096, time_s=1e-9)), DEVICES) == []
    assert implausible(table.complete(pd.DataFrame(columns=list(table.COLUMNS))), DEVICES) == []


def test_times_are_named_if_most_of_a_device_are_far_above_the_roofline() -> None:
    size = 4096  # 2 x 4096^3 FLOPs take 13.7 ms at 10 TFLOP/s
    slow, usual = gemm(size, size, size, time_s=1.5), gemm(size, size, size, time_s=0.1)
    (found,) = implausible(measured("first", usual, slow, slow), DEVICES)
    what = "first: 2 rows over 100 times slower than the roofline plus the launch"
    assert found == f"{what}, for example row 4 (line 6) of a.csv: check the unit of the times"
    assert implausible(measured("first", usual, slow), DEVICES) == []
    small = gemm(16, 16, 16, time_s=5e-4)  # a slow launch
    assert implausible(measured("first", small), DEVICES) == []
