"""Intervals of operators by family and data type."""

import numpy as np
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.time.calibrate import half_width, unseen_devices
from hpcbench.predict.time.prepared import prepare
from tests.predict.time.made_up import DEVICES, products


def test_a_data_type_has_a_width_of_its_own_if_it_is_calibrated() -> None:
    rows = products(DEVICES, 1).assign(dtype=["float32", "float16", "float32"])
    calibration = Calibration(2, 0.0, {ALL: 9.0, "gemm": 2.0, "gemm|float16": 3.0})
    assert half_width(calibration, prepare(rows, DEVICES), np.full(3, 0.1)) == pytest.approx([0.2, 0.3, 0.2])


def test_devices_that_are_left_out_give_quantiles_of_families_and_data_types() -> None:
    pytest.importorskip("lightgbm")
    found = unseen_devices(prepare(products(DEVICES, 150), DEVICES))
    assert set(found.quantiles) == {ALL, "gemm", "gemm|float32"}
    assert found.quantiles["gemm"] == pytest.approx(found.quantiles["gemm|float32"], rel=0.1)
    assert found.clusters == 3
