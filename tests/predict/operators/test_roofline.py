"""Bounds of operators, at the rates of the data sheet and at sustained ones."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.roofline import Bounds, bounds
from hpcbench.predict.operators.sustained import sustained_bounds
from hpcbench.predict.tables import operators as table
from tests.predict.time.made_up import device


def rows(**values: object) -> pd.DataFrame:
    common = {"device": "a", "kind": table.GEMM, "dtype": "float32", "flops": 28e12, "bytes": 1.8e12}
    return table.complete(pd.DataFrame([{**common, **values}]))


def test_times_of_flops_and_bytes() -> None:
    found = bounds(rows(), {"a": device("a")})
    assert found.compute_s[0] == pytest.approx(2.0)
    assert found.memory_s[0] == pytest.approx(2.0)
    assert found.roofline_s[0] == pytest.approx(2.0)


def test_matrix_kinds_compute_in_their_data_type_and_others_in_vectors() -> None:
    devices = {"a": device("a")}
    assert bounds(rows(dtype="float16"), devices).compute_s[0] == pytest.approx(0.25)
    assert bounds(rows(dtype="float16", kind=table.POINTWISE), devices).compute_s[0] == pytest.approx(2.0)


def test_a_cpu_with_fewer_threads_than_cores_has_lower_peaks() -> None:
    cpu = device("a", kind="cpu", units=16)
    found = bounds(rows(threads=4), {"a": cpu})
    assert found.compute_s[0] == pytest.approx(2.0 * 16 / 4)
    assert found.memory_s[0] == pytest.approx(2.0), "a quarter of the cores reaches the bandwidth"


def test_a_device_without_a_description_has_no_bounds() -> None:
    unknown, devices = rows(device="b"), {"a": device("a")}
    assert np.isnan(bounds(unknown, devices).roofline_s[0])
    assert np.isnan(sustained_bounds(unknown, devices).roofline_s[0])


def test_the_soft_maximum_is_largest_for_equal_times() -> None:
    found = Bounds(np.array([1.0, 1.0]), np.array([1.0, 0.0])).soft_s()
    assert found == pytest.approx([2**0.25, 1.0])


def test_power_limits_the_rate() -> None:
    # 1.28 W for each TFLOP/s and nm: 14 TFLOP/s at 12 nm are 215 W.
    tight = device("a", board_power_w=215.04)
    found = sustained_bounds(rows(), {"a": tight})
    assert found.compute_s[0] == pytest.approx(2.0 * 2**0.25)
    assert sustained_bounds(rows(), {"a": device("a")}).compute_s[0] == pytest.approx(2.0)


def test_power_limits_a_data_type_at_the_precision_that_computes_it() -> None:
    # 14 TFLOP/s in float32 are 215 W; without units for bfloat16, its products are in float32.
    tight = {"a": device("a", board_power_w=215.04)}
    exact, missing = (sustained_bounds(rows(dtype=name), tight).compute_s[0] for name in ("float32", "bfloat16"))
    assert missing == exact == pytest.approx(2.0 * 2**0.25)


@pytest.mark.parametrize("changes", [{"process_nm": None}, {"kind": "cpu"}])
def test_power_limits_nothing_that_is_not_known(changes: dict[str, object]) -> None:
    tight: Device = device("a", board_power_w=1.0, **changes)
    assert sustained_bounds(rows(), {"a": tight}).compute_s[0] == pytest.approx(2.0)


def test_small_data_come_from_the_cache() -> None:
    # 80 units x 1.4 GHz x 11.7 bytes are 1.31 TB/s; at 0.85 times the cache, half of the bytes come from it.
    devices = {"a": device("a")}
    half = sustained_bounds(rows(bytes=0.85 * 6e6), devices).memory_s[0]
    assert half == pytest.approx(0.85 * 6e6 * 0.5 * (1 / 900e9 + 1 / (80 * 1.4e9 * 11.7)))
    assert sustained_bounds(rows(), devices).memory_s[0] == pytest.approx(2.0, rel=1e-4)


def test_products_are_computed_in_whole_tiles_with_more_steps() -> None:
    # 96 x 64 outputs take two tiles of 64 x 64; 32 steps more than k = 32 double the work.
    product = rows(batch=1.0, m=96.0, n=64.0, k=32.0, bytes=0.0)
    found = sustained_bounds(product, {"a": device("a")}).compute_s[0]
    assert found == pytest.approx(2.0 * (128 / 96) * 2)
    empty = rows(batch=1.0, m=96.0, n=64.0, k=0.0, bytes=0.0)
    assert sustained_bounds(empty, {"a": device("a")}).compute_s[0] == pytest.approx(2.0)


def test_products_on_cpus_have_tiles_of_a_core() -> None:
    cpu = {"a": device("a", kind="cpu", units=1)}
    # 9 x 64 outputs take 2 x 4 tiles of 8 x 16; a GPU computes 64 x 64.
    found = sustained_bounds(rows(batch=1.0, m=9.0, n=64.0, k=32.0, bytes=0.0), cpu).compute_s[0]
    assert found == pytest.approx(2.0 * 16 / 9)


def test_products_on_cpus_take_longer_with_more_rows() -> None:
    cpu = {"a": device("a", kind="cpu", units=1)}
    size = {"batch": 1.0, "n": 1024.0, "k": 1024.0}
    of = [sustained_bounds(rows(m=m, flops=m * 2**21, bytes=2**22, **size), cpu).compute_s[0] for m in (8.0, 64.0)]
    assert of[1] == pytest.approx(8 * of[0])
