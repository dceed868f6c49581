"""Measurements that no device of the description can have: usually, their unit is not that of the column."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import of_rows
from hpcbench.predict.operators.roofline import MATRIX_KINDS, bounds
from hpcbench.predict.sets.places import place
from hpcbench.util.text import plural

_FASTER = 10.0  # than the peak rate; convolutions by Winograd reach 2.25, the ratio of their products [1]
# Than the roofline and a launch. Of the public sets, each device has a median of at most 6.
_SLOWER, _LAUNCH_S, _MOST = 100.0, 1e-5, 0.5
_MORE_POWER = 3.0  # than the board power; peaks of milliseconds reach less than twice of it
# [1] A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016, section 4.1.


def implausible(operators: pd.DataFrame, devices: Mapping[str, Device]) -> list[str]:
    """Return a sentence per device with the number of operators that are too fast, or that have too much power.

    Times of most operators of a device that are too slow are named, too.
    """
    products = operators[operators["kind"].isin(MATRIX_KINDS)]
    too_fast = products["time_s"].to_numpy(dtype="float64") * _FASTER < bounds(products, devices).compute_s
    measured = operators[operators["power_w"].notna()]
    board_w = of_rows(measured, devices, lambda device: device.board_power_w)
    too_much = measured["power_w"].to_numpy(dtype="float64") > _MORE_POWER * board_w
    slow = _slow(operators, devices)
    return [
        *_sentences(products[too_fast], f"over {_FASTER:g} times faster than the peak rate of the device", "times"),
        *_sentences(measured[too_much], f"with over {_MORE_POWER:g} times the board power of the device", "power"),
        *_sentences(slow, f"over {_SLOWER:g} times slower than the roofline plus the launch", "times"),
    ]


def _slow(operators: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the operators that are too slow, of the devices on which most are: single ones may have a slow kernel."""
    time_s = operators["time_s"].to_numpy(dtype="float64")
    is_slow = pd.Series(time_s > _SLOWER * (bounds(operators, devices).roofline_s + _LAUNCH_S), index=operators.index)
    timed = operators["time_s"].notna()
    fractions = is_slow[timed].groupby(operators["device"][timed]).transform("mean")
    return operators[is_slow & (fractions.reindex(operators.index) > _MOST)]


def _sentences(rows: pd.DataFrame, what: str, unit_of: str) -> list[str]:
    return [
        f"{device}: {plural(len(each), 'row')} {what}, for example {_first(each)}: check the unit of the {unit_of}"
        for device, each in rows.groupby("device")
    ]


def _first(rows: pd.DataFrame) -> str:
    file = str(rows["file"].iloc[0])
    return f"{place(file, rows['row'].iloc[0])} of {file}"
