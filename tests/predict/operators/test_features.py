"""Features of operators have no dimension."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.sustained import sustained_bounds
from hpcbench.predict.tables import operators as table
from tests.predict.time.made_up import DEVICES, device, products


def test_sizes_alignment_and_reuse() -> None:
    rows = products({"middle": DEVICES["middle"]}, 1).assign(
        m=96.0, n=50.0, k=128.0, bytes=4.0 * (96 * 128 + 50 * 128 + 96 * 50)
    )
    found = features(rows, DEVICES, sustained_bounds(rows, DEVICES)).iloc[0]
    assert found["m_alignment"] == 2  # 32 divides 96, and a load has 4 elements
    assert found["n_alignment"] == 1
    assert found["k_alignment"] == 2
    assert found["reuse"] == pytest.approx(0.0)
    assert found["smaller"] == pytest.approx(np.log(50))


def test_a_device_of_twice_the_size_has_the_features_of_twice_the_work() -> None:
    one, two = device("one"), dataclasses.replace(device("two", 2.0), l2_bytes=12e6)
    rows = products({"one": one}, 5)
    doubled = rows.assign(device="two", batch=2.0, flops=2 * rows["flops"], bytes=2 * rows["bytes"])
    devices = {"one": one, "two": two}
    first = features(rows, devices, sustained_bounds(rows, devices))
    second = features(doubled, devices, sustained_bounds(doubled, devices))
    same = [name for name in first if name not in ("batch", "reuse")]
    pd.testing.assert_frame_equal(first[same], second[same])


def test_kinds_have_only_their_features() -> None:
    sizes = {"rows": 160.0, "columns": 48.0, "inputs": 1.0, "flops": 7680.0, "bytes": 61440.0}
    operator = {"device": "middle", "kind": table.POINTWISE, "function": "gelu", "dtype": "float32", **sizes}
    rows = table.complete(pd.DataFrame([operator]))
    found = features(rows, DEVICES, sustained_bounds(rows, DEVICES)).iloc[0]
    assert found["costly"] == 1
    assert found["rows_per_unit"] == pytest.approx(np.log(2))
    assert found["columns_alignment"] == 2
    assert np.isnan(found["m"])
    assert np.isnan(found["keys"])


def test_features_of_named_kernels() -> None:
    rows = products(DEVICES, 1).head(2).assign(batch=2.0, m=100.0, n=200.0)
    rows["kernel_name"] = ["volta_sgemm_128x64_nn", ""]
    found = features(rows, DEVICES, sustained_bounds(rows, DEVICES))
    units = DEVICES["small"].units
    assert np.exp(found["kernel_waves"].iloc[0]) == pytest.approx(2 * 2 * 2 / units)
    assert np.exp(found["kernel_fill"].iloc[0]) == pytest.approx(100 * 200 / (4 * 128 * 64))
    assert found[["kernel_tile", "kernel_waves", "kernel_fill", "sliced"]].iloc[1].isna().all()
