"""Operators of CPUs that were measured there, and operators that are similar to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.measured.similar_operators import SimilarTime, similar_times
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate

CPUS = Device(
    name="CPUs",
    vendor="AMD",
    architecture="Zen 4",
    year=2022,
    units=8,
    boost_mhz=3000,
    vector_flops_per_s=1e11,
    memory_bytes=64e9,
    memory_bytes_per_s=4e10,
    l2_bytes=32e6,
    board_power_w=100,
    kind=CPU,
    aliases=("CPUs of a node",),
)
GPU = replace(CPUS, name="GPU", kind="gpu", aliases=())
DEVICES = {"CPUs": CPUS, "CPUs of a node": CPUS, "GPU": GPU}
SLOWER = 1.6  # than the roofline, on these CPUs


class Other:
    """A model that predicts one second for each operator."""

    def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
        return Estimate(np.zeros(len(operators)), np.ones(len(operators)), np.full(len(operators), "", dtype=object))


def products(sizes: list[int], device: str = "CPUs") -> pd.DataFrame:
    """Square products that take 1.6 times the time of their FLOPs, and a call of 3 us."""
    rows = pd.DataFrame({"m": sizes, "n": sizes, "k": sizes, "batch": 1})
    flops = 2.0 * rows["m"].astype("float64") ** 3
    found = rows.assign(
        kind=table.GEMM,
        function="linear",
        phase="forward",
        dtype="float32",
        flops=flops,
        bytes=12.0 * rows["m"].astype("float64") ** 2,
        device=device,
        timing=table.STREAM,
        threads=8,
        time_s=SLOWER * flops / 1e11,
    )
    return table.complete(found)


MEASURED = products([*range(256, 1280, 32)])


def test_operators_between_measured_ones_have_their_efficiency() -> None:
    model = similar_times(MEASURED, DEVICES, Other())
    found = model.estimate(products([400, 900]), DEVICES, True)
    assert np.exp(found.log_value) == pytest.approx(products([400, 900])["time_s"].to_numpy(), rel=0.05)
    assert (found.reason == "").all()
    far = model.estimate(products([40000]), DEVICES, True)
    assert far.spread[0] > 2 * found.spread[0]


def test_page_faults_of_large_results_are_added_to_inefficient_operators() -> None:
    model = similar_times(MEASURED, DEVICES, Other())
    large = products([2048]).assign(n=4096.0, k=8.0)  # a result of 32 MiB
    small = large.assign(m=2047.0)  # just below, with the same FLOPs and bytes
    times = [np.exp(model.estimate(each, DEVICES, True).log_value[0]) for each in (large, small)]
    assert times[0] - times[1] == pytest.approx(32 * 2**20 / 4096 * 1e-6, rel=0.02)


def test_measured_page_faults_do_not_lower_the_efficiency() -> None:
    large = products([4096]).assign(k=8.0, flops=1e9, bytes=1e6)
    faulted = large.assign(time_s=SLOWER * 1e9 / 1e11 + 64 * 2**20 / 4096 * 1e-6)
    model = similar_times(pd.concat([MEASURED, faulted], ignore_index=True), DEVICES, Other())
    asked = large.assign(m=1024.0, flops=0.25e9)  # a result of 16 MiB
    assert np.exp(model.estimate(asked, DEVICES, True).log_value[0]) == pytest.approx(SLOWER * 0.25e9 / 1e11, rel=0.1)


def test_cheaper_page_faults_than_assumed_are_predicted_as_measured() -> None:
    """Many threads clear pages at the same time: 64 MiB in 3 ms instead of 16 ms."""
    large = products([4096]).assign(kind=table.POINTWISE, function="add", rows=4096.0, columns=4096.0)
    large = large.assign(flops=1.7e7, bytes=1.3e8, time_s=3e-3, m=np.nan, n=np.nan, k=np.nan)
    model = similar_times(pd.concat([MEASURED, *[large] * 3], ignore_index=True), DEVICES, Other())
    found = np.exp(model.estimate(large, DEVICES, True).log_value[0])
    assert found == pytest.approx(3e-3, rel=0.1)


def test_short_calls_of_recurrent_layers_have_the_copies_of_their_weights() -> None:
    steps = np.array([*range(16, 256, 12), 1.0])
    layers = pd.DataFrame({"rows": steps, "m": 8.0, "n": 4096.0, "k": 2048.0})
    work = 8 * 2 * 4096 * 2048 * steps
    copies_s = 2 * 4096 * 2048 * 4 / CPUS.memory_bytes_per_s
    layers = layers.assign(kind=table.RNN, function="lstm", phase="forward", dtype="float32", flops=work, bytes=1e6)
    layers = layers.assign(device="CPUs", timing=table.STREAM, threads=8, time_s=SLOWER * (work / 1e11 + copies_s))
    layers = table.complete(layers)
    measured, short = layers[:-1], layers[-1:]
    model = similar_times(measured, DEVICES, Other())
    found = np.exp(model.estimate(short, DEVICES, True).log_value[0])
    assert found == pytest.approx(short["time_s"].iloc[0], rel=0.2)


def test_convolutions_of_few_images_have_the_copies_of_their_weights() -> None:
    pixels = np.array([*range(1024, 8192, 256), 16.0])
    images = pd.DataFrame({"batch": 1.0, "m": pixels, "n": 1024.0, "k": 4608.0})
    work = 2 * 1024 * 4608 * pixels
    copies_s = 2 * 1024 * 4608 * 4 / CPUS.memory_bytes_per_s
    images = images.assign(kind=table.CONV, function="conv2d", phase="forward", dtype="float32", flops=work, bytes=4e7)
    images = images.assign(device="CPUs", timing=table.STREAM, threads=8, time_s=SLOWER * (work / 1e11 + copies_s))
    images = table.complete(images)
    model = similar_times(images[:-1], DEVICES, Other())
    found = np.exp(model.estimate(images[-1:], DEVICES, True).log_value[0])
    assert found == pytest.approx(images["time_s"].iloc[-1], rel=0.3)


def test_a_device_has_its_model_by_each_of_its_names() -> None:
    model = similar_times(MEASURED, DEVICES, Other())
    one, other = (model.estimate(products([400], name), DEVICES, True) for name in ("CPUs", "CPUs of a node"))
    assert one.log_value == pytest.approx(other.log_value)


@pytest.mark.parametrize("rows", [products([512] * 20, "GPU"), MEASURED[:5]])
def test_gpus_and_cpus_with_few_rows_have_the_other_model(rows: pd.DataFrame) -> None:
    model = similar_times(rows, DEVICES, Other())
    assert not model.own
    assert model.estimate(products([400], str(rows["device"].iloc[0])), DEVICES, True).log_value[0] == 0


def test_without_its_measurements_a_device_has_the_other_model() -> None:
    model = similar_times(MEASURED, DEVICES, Other())
    both = pd.concat([products([400]), products([400], "GPU")], ignore_index=True)
    assert model.estimate(both, DEVICES, True).log_value[1] == 0


def test_operators_of_unknown_kind_are_refused() -> None:
    asked = products([400]).assign(kind=table.UNKNOWN)
    found = similar_times(MEASURED, DEVICES, Other()).estimate(asked, DEVICES, True)
    assert "has no model" in found.reason[0]


def test_a_model_survives_json() -> None:
    model = similar_times(MEASURED, DEVICES, Other())
    again = SimilarTime.from_json(json.loads(json.dumps(model.to_json())), Other())
    asked = products([400, 3000])
    found, expected = (each.estimate(asked, DEVICES, True).log_value for each in (again, model))
    assert found == pytest.approx(expected, abs=2e-3)
