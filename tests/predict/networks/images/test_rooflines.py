"""Seconds of components by the roofline of a device."""

from __future__ import annotations

from types import MappingProxyType

import pandas as pd
import pytest

from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT16, TF32, Device
from hpcbench.predict.networks.catalog.catalog import catalog_of
from hpcbench.predict.networks.images.rooflines import COMPONENTS, rooflines
from hpcbench.predict.networks.images.workload import workload
from hpcbench.predict.tables.networks import complete
from tests.predict.networks.small_catalog import CONTENT

MATRIX, VECTOR, BANDWIDTH = 1e14, 1e13, 1e12


def _device(**changes: object) -> Device:
    given: dict[str, object] = {
        "name": "a",
        "vendor": "v",
        "architecture": "",
        "year": 2020,
        "units": 80,
        "boost_mhz": 1500.0,
        "vector_flops_per_s": VECTOR,
        "memory_bytes": 1e10,
        "memory_bytes_per_s": BANDWIDTH,
        "l2_bytes": 4e6,
        "board_power_w": 250.0,
        "matrix_flops_per_s": MappingProxyType({FLOAT16: MATRIX, TF32: MATRIX / 2}),
    }
    return Device(**{**given, **changes})  # type: ignore[arg-type]


def _seconds(device: Device, **row: object) -> pd.Series:
    rows = complete(pd.DataFrame([{"network": "net", "mparams": 3.0, "batch_size": 64, "device": "a", **row}]))
    work = workload(rows, catalog_of(CONTENT))
    return pd.Series(rooflines(work, rows, {"a": device})[0], index=list(COMPONENTS))


def test_a_convolution_in_matrix_units() -> None:
    found = _seconds(_device(), dtype="amp")
    fill = (8 / 64) * (27 / 32)  # 8 of 64 columns and 27 of 32 elements of depth; 6,400 rows fill 100 tiles
    assert found["arithmetic conv"] == pytest.approx(2 * 64 * 100 * 8 * 27 / MATRIX / fill)
    assert found["traffic conv"] == pytest.approx(64 * 1100 * 2 / BANDWIDTH)
    assert found["weights conv"] == pytest.approx(8 * 27 * 2 / BANDWIDTH)


def test_tf32_takes_matrix_units_and_twice_the_bytes() -> None:
    half, full = _seconds(_device(), dtype="float16"), _seconds(_device(), dtype="tf32")
    assert full["arithmetic conv"] == pytest.approx(2 * half["arithmetic conv"])
    assert full["traffic conv"] == pytest.approx(2 * half["traffic conv"])


def test_float32_takes_no_matrix_units_of_tf32() -> None:
    relaxed, exact = _seconds(_device(), dtype="tf32"), _seconds(_device(), dtype="float32")
    assert exact["arithmetic conv"] == pytest.approx(MATRIX / 2 / VECTOR * relaxed["arithmetic conv"])
    assert exact["traffic conv"] == pytest.approx(relaxed["traffic conv"])


def test_half_precision_without_matrix_units_costs_as_much_as_float32() -> None:
    old = _device(matrix_flops_per_s=MappingProxyType({}))
    assert _seconds(old, dtype="float16").to_list() == pytest.approx(_seconds(old, dtype="float32").to_list())


def test_bfloat16_has_the_rate_of_its_own_units() -> None:
    newer = _device(matrix_flops_per_s=MappingProxyType({FLOAT16: MATRIX, BFLOAT16: MATRIX}))
    assert _seconds(newer, dtype="bfloat16").to_list() == _seconds(newer, dtype="float16").to_list()
    older = _device(matrix_flops_per_s=MappingProxyType({FLOAT16: MATRIX}))
    assert _seconds(older, dtype="bfloat16").to_list() == _seconds(older, dtype="float32").to_list()
    assert _seconds(older, dtype="bfloat16")["arithmetic conv"] > 5 * _seconds(older, dtype="amp")["arithmetic conv"]


def test_scores_move_only_without_fused_attention() -> None:
    old, new = (_seconds(_device(), dtype="amp", library=release)["scores"] for release in ("1.13", "2.4.0"))
    assert old == pytest.approx(2 * 64 * 4 * 50 * 50 * 2 / BANDWIDTH)
    assert new == 0


def test_launches_do_not_grow_with_the_batch() -> None:
    few, many = _seconds(_device(), batch_size=1), _seconds(_device(), batch_size=64)
    assert few["launches linear"] == many["launches linear"] == pytest.approx(3e-6)


def test_cpus_have_the_rates_of_the_threads() -> None:
    cores = _device(kind=CPU, units=16, matrix_flops_per_s=MappingProxyType({}))
    whole, half = (_seconds(cores, dtype="float32", threads=threads) for threads in (16, 8))
    assert half["arithmetic conv"] == pytest.approx(2 * whole["arithmetic conv"])
    assert half["traffic conv"] == pytest.approx(whole["traffic conv"])  # half the cores reach the bandwidth


def test_newer_hosts_launch_faster() -> None:
    found = [_seconds(_device(year=year), batch_size=1)["launches linear"] for year in (2020, 2022)]
    assert found[1] == pytest.approx(found[0] / 1.035**2)


def test_a_core_computes_smaller_tiles_than_a_gpu() -> None:
    cores = _device(kind=CPU, units=16, matrix_flops_per_s=MappingProxyType({}))
    found = _seconds(cores, dtype="float32", batch_size=1)["arithmetic linear"]
    fill = (1 / 8) * (10 / 16)  # 1 of 8 rows and 10 of 16 columns
    assert found == pytest.approx(2 * 10 * 8 / VECTOR / fill)


def test_training_has_three_passes_but_no_gradient_of_the_image() -> None:
    forward, training = (_seconds(_device(), dtype="amp", phase=phase) for phase in ("inference", "training"))
    first = [name for name in COMPONENTS if name.endswith(" conv")]  # one convolution, which is the first layer
    passes = {name: 2.0 if name in first else 3.0 for name in COMPONENTS}
    passes["launches dense"] = 2.0
    assert training.to_list() == pytest.approx((pd.Series(passes) * forward).to_list())


def test_an_optimizer_moves_weights_gradients_and_states() -> None:
    found = {name: _seconds(_device(), phase="training", optimizer=name)["optimizer"] for name in ("sgd", "adam", "")}
    # 3 million weights of 4 bytes: read weight and gradient, write weight; with Adam, read and write two states
    assert found["sgd"] == pytest.approx(3e6 * 4 * 3 / BANDWIDTH)
    assert found["adam"] == pytest.approx(3e6 * 4 * 7 / BANDWIDTH)
    assert found[""] == 0.0
    assert _seconds(_device(), phase="inference", optimizer="adam")["optimizer"] == 0.0
