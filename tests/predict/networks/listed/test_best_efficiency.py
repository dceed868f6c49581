"""Efficiencies from measured operators, and times of regular operators from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.networks.listed import regular
from hpcbench.predict.networks.listed.best_efficiency import best_efficiencies
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import (
    DEVICES,
    FLOPS_PER_S,
    Constant,
    device,
    gemm,
    product_s,
    row_wise,
    some_operators,
)

KEY = "gemm float32"


def test_the_efficiency_of_products_is_found() -> None:
    found = best_efficiencies(some_operators("first", 0.8), DEVICES)
    assert np.exp(found[KEY]["first"]) == pytest.approx(0.8, rel=0.02)


def test_operators_that_fall_back_for_long_times_do_not_lower_it() -> None:
    short = some_operators("first", 0.8)
    long = table.complete(pd.DataFrame([gemm(16384, 16384, 8192 + i) for i in range(200)]))
    slow = long.assign(device="first", timing=table.STREAM, time_s=long["flops"] / FLOPS_PER_S / 0.2)
    found = best_efficiencies(pd.concat([short, slow]), DEVICES)
    assert np.exp(found[KEY]["first"]) == pytest.approx(0.8, rel=0.02)


def test_rows_at_a_lower_power_limit_do_not_lower_it() -> None:
    default = some_operators("first", 0.8, count=60)
    capped = pd.concat([some_operators("first", 0.3).assign(power_limit_w=300.0)] * 5)
    found = best_efficiencies(pd.concat([default, capped], ignore_index=True), DEVICES)
    assert found == best_efficiencies(default, DEVICES)


def test_too_few_rows_have_no_efficiency() -> None:
    assert best_efficiencies(some_operators("first", 0.8, count=10), DEVICES) == {}


def test_an_operator_takes_its_bound_over_the_efficiency_and_5_us() -> None:
    model = regular.fit(some_operators("first", 0.8), DEVICES, Constant())
    asked = table.complete(pd.DataFrame([gemm(4096, 4096, 4096)])).assign(device="first")
    expected = product_s(2 * 4096**3, 4096) / 0.8 + 5e-6
    assert np.exp(model.estimate(asked, DEVICES, True).log_value) == pytest.approx([expected], rel=0.02)


def test_groups_without_rows_and_other_data_types_are_left_to_the_other_model() -> None:
    model = regular.fit(some_operators("first", 0.8), DEVICES, Constant(0.5))
    asked = table.complete(pd.DataFrame([row_wise(64, 64), gemm(64, 64, 64, dtype="float16")])).assign(device="first")
    assert np.exp(model.estimate(asked, DEVICES, True).log_value) == pytest.approx([0.5, 0.5])


def test_products_in_float16_have_the_efficiency_of_those_in_bfloat16() -> None:
    model = regular.fit(some_operators("first", 0.8).assign(dtype="bfloat16"), DEVICES, Constant())
    asked = table.complete(pd.DataFrame([gemm(4096, 4096, 4096)])).assign(device="first")
    half, brain = (model.estimate(asked.assign(dtype=name), DEVICES, True) for name in ("float16", "bfloat16"))
    assert half.log_value == pytest.approx(brain.log_value)
    assert np.exp(half.log_value) != pytest.approx([1e-3])  # the constant of the other model


def test_an_unseen_device_has_the_efficiency_of_those_of_its_vendor_and_age() -> None:
    old = device("old", vendor="AMD", year=2008)
    devices = {**DEVICES, "old": old}
    rows = pd.concat([some_operators("first", 0.8), some_operators("old", 0.4)])
    model = regular.fit(rows, devices, Constant())
    asked = table.complete(pd.DataFrame([gemm(4096, 4096, 4096)])).assign(device="second")
    found = model.estimate(asked, devices, True)
    expected = 2 * 4096**3 / FLOPS_PER_S / 0.8
    assert np.exp(found.log_value) == pytest.approx([expected], rel=0.03)
    assert found.spread[0] > model.estimate(asked.assign(device="first"), devices, True).spread[0]


def test_the_model_survives_json() -> None:
    model = regular.fit(some_operators("first", 0.8), DEVICES, Constant())
    assert regular.RegularTime.from_json(model.to_json(), model.others) == model


@pytest.mark.parametrize("size", [0.0, np.nan, np.inf, -1.0])
def test_operators_without_a_size_are_not_predicted(size: float) -> None:
    model = regular.fit(some_operators("first", 0.8), DEVICES, Constant())
    asked = table.complete(pd.DataFrame([gemm(64, 64, 64)])).assign(device="first", flops=size, bytes=size)
    found = model.estimate(asked, DEVICES, True)
    assert np.isnan(found.log_value[0])
    assert found.reason[0] == "FLOPs and bytes unknown or zero, or one of them negative or infinite"
