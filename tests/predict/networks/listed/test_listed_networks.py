"""Times of whole networks from lists: sums, ratios, refusals and intervals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.choice.ratios import PRIOR_OF_RATIOS
from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed import left_out
from hpcbench.predict.networks.listed.kernels import kernels
from hpcbench.predict.networks.listed.listed_networks import ListedNetworks, fit
from hpcbench.predict.networks.listed.ratio import SumRatio
from hpcbench.predict.networks.listed.sums import kernel_times, shares
from hpcbench.predict.results.limits import device_shares, limit_of
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Estimate
from tests.predict.networks.listed.fleet_of_two import (
    BYTES_PER_S,
    DEVICES,
    Constant,
    a_list,
    device,
    gemm,
    row_wise,
    some_networks,
    some_operators,
)

NOTHING = some_operators("first", 0.8).iloc[:0]
CPU_FREE = 1e-9


def _step(whole_over_sum: float = 1.0) -> pd.DataFrame:
    """Return networks of 2 devices whose operators take 1 ms each: 10 forward, 20 backward."""
    rows = [
        {
            "device": name,
            "network": network,
            "list_id": "train",
            "phase": "training",
            "forward_s": 0.010 * whole_over_sum,
            "backward_s": 0.020 * whole_over_sum,
            "time_s": 0.030 * whole_over_sum,
        }
        for name in ("first", "second")
        for network in ("a", "b")
    ]
    return some_networks(*rows)


LISTS = pd.concat(
    [
        a_list("train", row_wise(64, 64, calls=10), row_wise(64, 64, phase="backward", calls=20)),
        a_list("infer", row_wise(64, 64, calls=10)),
    ],
    ignore_index=True,
)


def test_the_sum_of_operators_is_the_time_without_measured_networks() -> None:
    asked = some_networks({"device": "first", "network": "new", "list_id": "train", "phase": "training"})
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant())
    found = model.estimate(asked, LISTS, DEVICES)
    times = {name: float(np.exp(each.log_value[0])) for name, each in found.items()}
    assert times == pytest.approx({"time_s": 0.030, "forward_s": 0.010, "backward_s": 0.020})


def test_errors_without_measured_networks_are_partly_common_to_devices() -> None:
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant())
    assert model.ratio_errors.factor < 1.0


def test_the_ratio_of_measured_networks_carries_over() -> None:
    model = fit(_step(1.2), LISTS, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "a", "list_id": "train", "phase": "training"})
    found = model.estimate(asked, LISTS, DEVICES)["time_s"]
    assert np.exp(found.log_value[0]) == pytest.approx(0.036, rel=0.03)


def test_the_host_limits_a_network_of_tiny_kernels() -> None:
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant(CPU_FREE))
    asked = some_networks({"device": "first", "network": "new", "list_id": "infer"})
    found = model.estimate(asked, LISTS, DEVICES)["time_s"]
    assert np.exp(found.log_value[0]) == pytest.approx(10 * 20e-6)
    assert found.spread[0] == pytest.approx(0.4, rel=0.02), "hosts differ"
    assert found.launches[0] == pytest.approx(20e-6 / CPU_FREE)
    times = model.kernel_times(asked, LISTS, DEVICES)
    of_device = device_shares(times, DEVICES)
    assert limit_of(model.launches(asked, times, DEVICES), of_device).item() == "launch"


def test_the_ratio_of_measured_networks_counts_for_what_limits_the_time() -> None:
    # 10 operators of 18 us, and launches of 20 us: measured networks take 1.5 times as long as the sum.
    model = replace(
        fit(some_networks(), LISTS, DEVICES, NOTHING, Constant(18e-6)),
        ratio=SumRatio({"part forward": float(np.log(1.5))}),
    )
    asked = some_networks({"device": "first", "network": "new", "list_id": "infer"})
    found = model.estimate(asked, LISTS, DEVICES)["time_s"]
    assert np.exp(found.log_value[0]) == pytest.approx(270e-6)
    assert found.launches[0] == pytest.approx(20 / 27)
    assert found.spread[0] < 0.4, "the host does not limit the time"
    times = model.kernel_times(asked, LISTS, DEVICES)
    of_device = device_shares(times, DEVICES)
    assert limit_of(model.launches(asked, times, DEVICES), of_device).item() == "memory"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "other"}, "description of device 'other' not found"),
        ({"list_id": ""}, "network 'new' has no list of operators"),
        ({"list_id": "missing"}, "list of operators 'missing' not found"),
    ],
)
def test_a_network_is_refused_with_a_reason(changes: dict[str, str], reason: str) -> None:
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "new", "list_id": "infer", **changes})
    found = model.estimate(asked, LISTS, DEVICES)["time_s"]
    assert found.reason[0] == reason
    assert np.isnan(found.log_value[0])


def test_inference_has_no_backward_pass() -> None:
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "new", "list_id": "infer"})
    assert model.estimate(asked, LISTS, DEVICES)["backward_s"].reason[0] == "inference has no backward pass"


def test_training_without_operators_of_the_backward_pass_has_no_backward_time() -> None:
    model = fit(some_networks(), LISTS, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "new", "list_id": "infer", "phase": "training"})
    reason = model.estimate(asked, LISTS, DEVICES)["backward_s"].reason[0]
    assert reason == "list of operators 'infer' has no operators of the backward pass"


def test_a_list_of_views_has_no_operators() -> None:
    view = {"kind": table.COPY, "function": "view", "dtype": "float32", "phase": "forward", "columns": 1, "bytes": 4.0}
    listed = a_list("views", view)
    asked = some_networks({"device": "first", "network": "new", "list_id": "views"})
    model = fit(some_networks(), listed, DEVICES, NOTHING, Constant())
    found = model.estimate(asked, listed, DEVICES)["time_s"]
    assert found.reason.tolist() == ["list of operators 'views' has no operators"]


@pytest.mark.parametrize(("milliseconds", "refused"), [(0.5, False), (2.0, True)])
def test_over_10_percent_in_unknown_operators_is_refused(milliseconds: float, refused: bool) -> None:
    moved = milliseconds * 1e-3 * BYTES_PER_S
    unknown = {"kind": table.UNKNOWN, "function": "custom", "dtype": "float32", "phase": "forward", "bytes": moved}
    listed = a_list("mixed", row_wise(64, 64, calls=10), unknown)
    model = fit(some_networks(), listed, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "new", "list_id": "mixed"})
    reason = model.estimate(asked, listed, DEVICES)["time_s"].reason[0]
    assert (reason == "operators of unknown kind take 16.7 % of the predicted time (limit: 10 %)") == refused


def test_intervals_are_wider_for_a_device_of_which_only_the_data_sheet_is_known() -> None:
    networks = _step().assign(time_s=np.nan)
    slow = networks["device"] == "second"
    networks = networks.assign(forward_s=networks["forward_s"] * np.where(slow, 1.5, 1.0))
    model = fit(networks, LISTS, DEVICES, NOTHING, Constant())
    devices = {**DEVICES, "new": DEVICES["first"].__class__(**{**DEVICES["first"].__dict__, "name": "new"})}
    asked = some_networks(
        *({"device": name, "network": "a", "list_id": "train", "phase": "training"} for name in ("first", "new"))
    )
    found = model.estimate(asked, LISTS, devices)["time_s"]
    seen, unseen = model.half_width("time_s", asked, devices, found)
    assert unseen > seen > 0


def test_a_device_under_another_of_its_names_is_the_one_of_the_fit() -> None:
    model = fit(_step(1.2), LISTS, DEVICES, some_operators("first", 0.8), Constant())
    renamed = device("new name", aliases=("first",))
    asked = some_networks({"device": "new name", "network": "a", "list_id": "train", "phase": "training"})
    found = model.estimate(asked, LISTS, {"new name": renamed})["time_s"]
    same = model.estimate(asked.assign(device="first"), LISTS, DEVICES)["time_s"]
    assert found.log_value == pytest.approx(same.log_value)


def test_a_network_that_would_be_refused_is_not_fitted_on() -> None:
    custom = {"kind": table.UNKNOWN, "function": "custom", "dtype": "float32", "phase": "forward", "bytes": BYTES_PER_S}
    listed = pd.concat([LISTS, a_list("custom", row_wise(64, 64), custom)], ignore_index=True)
    refused = some_networks({"device": "first", "network": "c", "list_id": "custom", "time_s": 9.0})
    models = [
        fit(networks, listed, DEVICES, NOTHING, Constant())
        for networks in (_step(1.2), pd.concat([_step(1.2), refused], ignore_index=True))
    ]
    assert models[0].to_json() == models[1].to_json()
    assert fit(refused, listed, DEVICES, NOTHING, Constant()).network_devices == frozenset()


def test_a_device_of_measured_operators_has_the_errors_of_networks_that_were_not_profiled() -> None:
    """The operators of a profiled network were measured; without them, the model is off by a factor of three."""
    listed = a_list("own", gemm(40, 40, 40))
    measured = table.complete(pd.DataFrame([gemm(40, 40, 40)] * 2))
    operators = measured.assign(device=["first", "second"], timing=table.STREAM, time_s=1e-3)
    rows = [{"device": name, "network": "own", "list_id": "own", "time_s": 1e-3} for name in DEVICES]
    model = fit(some_networks(*rows), listed, DEVICES, operators, Constant(3e-3))
    known = fit(some_networks(*rows), listed, DEVICES, operators, Constant(1e-3))
    found, expected = (each.calibrations[left_out.OPERATORS].cluster for each in (model, known))
    assert found > expected + 0.5


def test_a_measured_operator_counts_with_its_measured_time() -> None:
    listed = a_list("own", gemm(512, 512, 512, calls=4))
    networks = some_networks({"device": "first", "network": "own", "list_id": "own", "time_s": 0.008})
    operators = table.complete(pd.DataFrame([gemm(512, 512, 512)])).assign(
        device="first", timing=table.STREAM, time_s=0.002
    )
    model = fit(networks, listed, DEVICES, operators, Constant(1.0))
    assert np.exp(model.estimate(networks, listed, DEVICES)["time_s"].log_value[0]) == pytest.approx(0.008, rel=0.01)


def test_shares_by_kind_sum_to_one() -> None:
    listed = a_list("both", gemm(64, 64, 64), row_wise(64, 64, calls=3))
    model = fit(some_networks(), listed, DEVICES, NOTHING, Constant())
    asked = some_networks({"device": "first", "network": "new", "list_id": "both"})
    found = shares(model.kernel_times(asked, listed, DEVICES))
    assert found.loc[0].to_dict() == pytest.approx({"gemm": 0.25, "pointwise": 0.75})


def test_the_model_survives_json() -> None:
    operators = some_operators("first", 0.8)
    model = fit(_step(1.2), LISTS, DEVICES, operators, Constant())
    loaded = ListedNetworks.from_json(json.loads(json.dumps(model.to_json())), Constant())
    asked = _step()
    found, expected = (each.estimate(asked, LISTS, DEVICES)["time_s"] for each in (loaded, model))
    assert found.log_value == pytest.approx(expected.log_value)
    assert loaded.half_width("time_s", asked, DEVICES, found) == pytest.approx(
        model.half_width("time_s", asked, DEVICES, expected)
    )


def test_ratios_of_two_devices_are_calibrated_on_networks_that_both_ran() -> None:
    asked = _step().assign(forward_s=np.nan, backward_s=np.nan)
    model = fit(
        asked.assign(time_s=np.where(asked["device"] == "second", 0.03, 0.02)), LISTS, DEVICES, NOTHING, Constant()
    )
    assert (model.ratio_errors.devices, model.ratio_errors.pairs) == (2, 1)
    assert ListedNetworks.from_json(model.to_json(), Constant()).ratio_errors == model.ratio_errors
    alone = fit(asked.assign(time_s=0.02).query("device == 'first'"), LISTS, DEVICES, NOTHING, Constant())
    assert alone.ratio_errors == PRIOR_OF_RATIOS


def test_errors_of_unseen_devices_are_those_of_models_without_them() -> None:
    """The models without each device are off by a factor of two: so is the interval of a device without operators."""
    model = fit(_step(1.0), LISTS, DEVICES, NOTHING, Constant(1e-3, unseen_s=2e-3))
    assert model.calibrations[left_out.DESCRIPTION].cluster > model.calibrations[left_out.OPERATORS].cluster + 0.5


def test_intervals_of_a_measured_device_are_never_wider_than_with_less_knowledge() -> None:
    fitted = fit(_step(1.2), LISTS, DEVICES, NOTHING, Constant())
    wide = Calibration(1, 0.0, {ALL: 50.0})
    model = replace(fitted, calibrations={**fitted.calibrations, left_out.NETWORKS: wide})
    asked = _step().query("device == 'first'").reset_index(drop=True)
    found = model.estimate(asked, LISTS, DEVICES)["time_s"]
    group = pd.Series("time_s", index=range(len(asked)))
    expected = fitted.calibrations[left_out.DESCRIPTION].half_width(group, found.spread)
    assert (model.half_width("time_s", asked, DEVICES, found) <= expected).all()


@pytest.mark.parametrize(
    ("count", "known"), [(1, left_out.DESCRIPTION), (100, left_out.DESCRIPTION), (101, left_out.OPERATORS)]
)
def test_a_device_with_few_measured_operators_has_the_intervals_of_one_without(count: int, known: str) -> None:
    """Its rows count together if they are under two of its names."""
    devices = {**DEVICES, **dict.fromkeys(("new", "alias"), device("new", aliases=("alias",)))}
    rows = some_operators("new", 0.8, count)
    rows = rows.assign(device=np.where(np.arange(count) % 2, "alias", "new"))
    model = fit(_step(1.0), LISTS, devices, rows, Constant(1e-3, unseen_s=2e-3))
    asked = some_networks({"device": "new", "network": "a", "list_id": "train", "phase": "training"})
    found = model.estimate(asked, LISTS, devices)["time_s"]
    expected = model.calibrations[known].half_width(pd.Series(["time_s"]), found.spread)
    assert model.half_width("time_s", asked, devices, found) == pytest.approx(expected)
    read = ListedNetworks.from_json(json.loads(json.dumps(model.to_json())), Constant())
    assert read.half_width("time_s", asked, devices, found) == pytest.approx(expected)


def test_on_cpus_the_framework_adds_its_time_between_operators() -> None:
    """On a GPU, the host launches the next kernel in the meantime."""
    devices = {"first": DEVICES["first"], "cpus": device("cpus", kind="cpu")}
    model = fit(some_networks(), LISTS, devices, NOTHING, Constant(1e-3))
    asked = some_networks(*({"device": name, "network": "a", "list_id": "infer"} for name in devices))
    gpu, cpus = np.exp(model.estimate(asked, LISTS, devices)["time_s"].log_value)
    assert cpus / gpu == pytest.approx((1e-3 + 6e-6) / 1e-3)


def test_times_of_operators_in_steps_of_cpus_have_the_dispatcher_in_them() -> None:
    devices = {"first": DEVICES["first"], "cpus": device("cpus", kind="cpu")}
    profiled = pd.DataFrame([{**row_wise(64, 64), "device": name} for name in devices])
    operators = table.complete(profiled).assign(timing=table.STREAM, time_s=1e-5)
    networks = some_networks(
        *({"device": name, "network": "a", "list_id": "infer", "time_s": 1e-3} for name in devices)
    )
    model = fit(networks, LISTS, devices, operators, Constant(1e-3))
    gpu, cpus = model.kernel_times(networks, LISTS, devices)["total_s"]
    assert gpu == pytest.approx(10 * 1e-5)
    assert cpus == pytest.approx(10 * (1e-5 + 2e-6))


def test_the_steps_of_a_recurrent_layer_wait_for_each_other_on_gpus() -> None:
    devices = {"first": DEVICES["first"], "cpus": device("cpus", kind="cpu")}
    layer = {"kind": table.RNN, "function": "lstm", "dtype": "float32", "phase": "forward", "rows": 64}
    sizes = {"batch": 1, "m": 8, "n": 1024, "k": 512, "flops": 2.0 * 64 * 8 * 1024 * 512, "bytes": 4e6}
    lists = a_list("steps", {**layer, **sizes})
    model = fit(some_networks(), LISTS, devices, NOTHING, Constant(1e-5))
    asked = some_networks(*({"device": name, "network": "a", "list_id": "steps"} for name in devices))
    gpu, cpus = model.kernel_times(asked, lists, devices)["total_s"]
    assert gpu == pytest.approx(64 * 5e-6)
    assert cpus == pytest.approx(1e-5 + 6e-6)
    times = model.kernel_times(asked, lists, devices)
    assert limit_of(np.array([0.1, 0.1]), device_shares(times, devices)).tolist() == ["latency", "compute"]
    assert limit_of(np.array([1.1, 0.1]), device_shares(times, devices)).tolist() == ["launch", "compute"]
    slow = fit(some_networks(), LISTS, devices, NOTHING, Constant(1e-3)).kernel_times(asked, lists, devices)
    assert limit_of(np.array([0.1, 0.1]), device_shares(slow, devices)).tolist() == ["compute", "compute"]


def test_measured_time_steps_count_although_they_take_less_time_than_assumed() -> None:
    layer = {"kind": table.RNN, "function": "lstm", "dtype": "float32", "phase": "forward", "rows": 64}
    sizes = {"batch": 1, "m": 8, "n": 1024, "k": 512, "flops": 2.0 * 64 * 8 * 1024 * 512, "bytes": 4e6}
    lists = a_list("steps", {**layer, **sizes})
    measured = pd.DataFrame([{**layer, **sizes, "device": "first", "timing": table.STREAM, "time_s": 1e-4}])
    profiled = some_networks({"device": "first", "network": "steps", "list_id": "steps"})
    known = pd.concat([LISTS, lists], ignore_index=True)
    model = fit(profiled, known, DEVICES, table.complete(measured), Constant(1e-5))
    asked = some_networks(*({"device": name, "network": "a", "list_id": "steps"} for name in ("first", "second")))
    times = model.kernel_times(asked, lists, DEVICES)
    assert times["total_s"].tolist() == pytest.approx([1e-4, 64 * 5e-6])
    assert times["waits"].tolist() == [True, True]


def test_time_steps_without_a_model_have_the_assumed_time() -> None:
    class Refused(Constant):
        """A model that predicts no operator."""

        def estimate(self, operators: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool) -> Estimate:
            found = super().estimate(operators, devices, in_stream)
            return replace(found, reason=np.full(len(operators), "no model", dtype=object))

    layer = {"kind": table.RNN, "function": "lstm", "dtype": "float64", "phase": "forward", "rows": 64, "bytes": 4e3}
    lists = a_list("steps", layer)
    asked = some_networks({"device": "first", "network": "a", "list_id": "steps"})
    times = kernel_times(asked, kernels(lists), DEVICES, Refused())
    assert times["total_s"].tolist() == pytest.approx([64 * 5e-6])
    assert times["waits"].tolist() == [True]
