"""Measured operators in the state of the device that is asked for."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.networks.listed.measured import MeasuredTime, measured_times
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import DEVICES, Constant, gemm

OTHERS = RegularTime(Constant(1.0), {}, {})


def _measured(clock_mhz: float, seconds: float) -> dict[str, object]:
    where = {"device": "first", "timing": table.STREAM, "clock_mhz": clock_mhz, "time_s": seconds}
    return {**gemm(512, 512, 512), **where}


@pytest.mark.parametrize(("clock_mhz", "seconds"), [(1000.0, 2e-3), (505.0, 4e-3), (np.nan, 2e-3), (750.0, 1.0)])
def test_the_time_is_that_of_the_state_and_without_one_of_the_highest_clock(clock_mhz: float, seconds: float) -> None:
    rows = table.complete(pd.DataFrame([_measured(1000.0, 2e-3), _measured(990.0, 2e-3), _measured(500.0, 4e-3)]))
    model = measured_times(rows, ["first"], OTHERS)
    asked = table.complete(pd.DataFrame([{**gemm(512, 512, 512), "device": "first", "clock_mhz": clock_mhz}]))
    assert np.exp(model.estimate(asked, DEVICES, True).log_value) == pytest.approx([seconds])


def test_calls_with_their_cost_do_not_count() -> None:
    rows = table.complete(pd.DataFrame([_measured(1000.0, 2e-3)])).assign(timing=table.CALL)
    assert measured_times(rows, ["first"], OTHERS).times == {}


def test_the_phase_of_a_product_does_not_matter_but_its_sizes_do() -> None:
    model = measured_times(table.complete(pd.DataFrame([_measured(np.nan, 2e-3)])), ["first"], OTHERS)
    asked = table.complete(pd.DataFrame([gemm(512, 512, 512, phase="backward"), gemm(512, 512, 513)]))
    found = model.estimate(asked.assign(device="first"), DEVICES, True)
    assert np.exp(found.log_value) == pytest.approx([2e-3, 1.0])


def test_the_times_survive_json_without_numbers_that_json_does_not_have() -> None:
    model = measured_times(table.complete(pd.DataFrame([_measured(np.nan, 2e-3)])), ["first"], OTHERS)
    text = json.dumps(model.to_json(), allow_nan=False)
    assert MeasuredTime.from_json(json.loads(text), OTHERS).to_json() == model.to_json()
