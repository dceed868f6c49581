"""Rows of profiles in the predictor's tables."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest

from hpcbench.predict.measured.profiles import optimizer_name, profiled
from hpcbench.predict.tables import lists, networks
from hpcbench.predict.tables import operators as table
from tests.predict.aten.calls import row, tensor

WHERE = {
    "sweep": "s",
    "case": "c1",
    "run": 1,
    "framework": "pytorch",
    "framework_version": "2.13.0",
    "model": "mlp",
    "model_options": '{"layers": 1}',
    "task": "training",
    "batch_size": 8,
    "case_dtype": "float32",
    "execution": "eager",
    "optimizer": '{"name": "adamw", "eps": 1e-8}',
    "device_model": "GPU X",
    "device": "gpu",
    "threads": 4,
    "requested_clock_mhz": None,
    "sm_clock_mhz": 1400.0,
    "cpu_clock_mhz": 2000.0,
    "power_limit_w": 300.0,
    "clock_moved": False,
    "calls_per_step": 3,
}
PRODUCT = row("aten.mm.default", self=tensor(4, 5), mat2=tensor(5, 6))


def profile(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**WHERE, **each} for each in rows])


def test_an_operator_is_timed_in_the_stream() -> None:
    found = profiled(profile({**PRODUCT, "stream_s": 2e-5, "hot_s": 1e-5, "power_w": 200.0}), "p")
    (only,) = found.operators.to_dict("records")
    assert list(found.operators.columns) == list(table.COLUMNS)
    assert (only["device"], only["library"], only["timing"]) == ("GPU X", "pytorch 2.13.0", table.STREAM)
    assert (only["time_s"], only["power_w"]) == (2e-5, 200)
    assert (only["clock_mhz"], only["power_limit_w"]) == (1400, 300)
    assert (only["m"], only["n"], only["k"]) == (4, 6, 5)
    assert math.isnan(only["threads"])


@pytest.mark.parametrize(
    ("times", "on_gpu", "on_cpu"),
    [
        ({"in_network_s": 3e-5, "hot_s": 1e-5}, 3e-5, 3e-5),
        ({"hot_s": 1e-5}, 1e-5, None),  # hot operators of a CPU are faster than in its network
    ],
)
def test_the_time_without_that_in_the_stream(times: dict[str, float], on_gpu: float, on_cpu: float | None) -> None:
    on_gpus = profiled(profile({**PRODUCT, **times}))
    on_cpus = profiled(profile({**PRODUCT, **times, "device": "cpu"}))
    assert on_gpus.operators["time_s"].tolist() == [on_gpu]
    assert on_cpus.operators["time_s"].tolist() == ([] if on_cpu is None else [on_cpu])
    assert on_cpus.left_out == ({"not timed": 1} if on_cpu is None else {})


def test_both_gradients_of_a_convolution_share_its_time() -> None:
    sizes = {"input": tensor(1, 2, 4, 4), "weight": tensor(2, 2, 1, 1), "grad_output": tensor(1, 2, 4, 4)}
    geometry = {"stride": [1], "padding": [0], "dilation": [1], "groups": 1, "output_mask": [True, True, False]}
    both = row("aten.convolution_backward.default", **sizes, **geometry)
    found = profiled(profile({**both, "stream_s": 4e-5, "energy_per_call_j": 1.0})).operators
    assert found["kind"].tolist() == [table.CONV_INPUT_GRADIENT, table.CONV_WEIGHT_GRADIENT]
    assert (found["time_s"].tolist(), found["energy_j"].tolist()) == ([2e-5, 2e-5], [0.5, 0.5])
    assert found["row"].tolist() == [0, 0]


def test_a_network_has_the_list_of_its_case() -> None:
    whole = {**row("network", kind="network"), "hot_s": 0.5, "stream_s": 0.6, "power_w": 250.0}
    view = {**row("aten.view.default", kind="view"), "stream_s": 1e-6}
    idle = {**row("idle", kind="idle"), "power_w": 50.0}
    found = profiled(profile(whole, {**PRODUCT, "stream_s": 2e-5}, view, idle))
    (network,) = found.networks.to_dict("records")
    assert list(found.networks.columns) == list(networks.COLUMNS)
    assert (network["network"], network["list_id"], network["time_s"]) == ('mlp {"layers": 1}', "c1", 0.5)
    assert (network["phase"], network["optimizer"], network["unit"]) == ("training", "adamw", "step")
    assert list(found.lists.columns) == list(lists.COLUMNS)
    assert (found.lists["list_id"].tolist(), found.lists["calls"].tolist()) == (["c1"], [3])
    assert len(found.operators) == 1
    assert found.left_out == {}


def test_a_compiled_network_has_no_list_of_its_operators() -> None:
    whole = {**row("network", kind="network"), "hot_s": 0.5}
    kernel = {**row("triton_poi_0", kind="fused"), "in_network_s": 1e-5}
    found = profiled(profile(whole, kernel))
    assert found.networks["list_id"].tolist() == [""]
    assert (len(found.operators), len(found.lists)) == (0, 0)
    assert found.left_out == {"kernel of a compiled network": 1}


def test_rows_that_other_work_or_clocks_changed_are_left_out_and_counted() -> None:
    timed = {**PRODUCT, "stream_s": 2e-5}
    rows = profile(timed, {**timed, "clock_moved": True}, {**timed, "run": 2, "case": "c2"})
    found = profiled(rows, contaminated=pd.DataFrame([{"sweep": "s", "case": "c2", "run": 2}]))
    assert found.left_out == {"the clock moved": 1, "interference": 1}
    assert found.operators["row"].tolist() == [0]
    assert set(found.lists["list_id"]) == {"c1"}


def test_the_names_of_optimizers() -> None:
    assert optimizer_name(json.dumps({"name": "sgd"})) == "sgd"
    assert [optimizer_name(each) for each in ("", "Adam", "[1]")] == ["", "Adam", "[1]"]
