"""Image networks: a fit on synthetic times, refusals, intervals and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.choice.ratios import PRIOR_OF_RATIOS
from hpcbench.predict.devices.device import BFLOAT16, CPU, FLOAT16, GPU, TF32, Device
from hpcbench.predict.networks.catalog.catalog import Catalog, catalog_of
from hpcbench.predict.networks.images.intervals import prior_intervals
from hpcbench.predict.networks.images.model import (
    NOT_MEASURED,
    OTHER_MODE,
    REFUSED,
    SAME_MODE,
    ImageNetworks,
    fit,
)
from hpcbench.predict.networks.images.prepared import prepare
from hpcbench.predict.tables.networks import complete
from tests.predict.networks.small_catalog import CONTENT

SMALL = catalog_of(CONTENT)
NAMES = ("one", "two", "three", "new")


def _device(name: str, scale: float) -> Device:
    return Device(
        *(name, "v", "", 2020, 80, 1500.0, scale * 1e13, 1e10, scale * 1e12, 4e6, 250.0),
        matrix_flops_per_s=MappingProxyType({FLOAT16: scale * 1e14}),
    )


DEVICES = {name: _device(name, scale) for name, scale in zip(NAMES, (1.0, 2.0, 0.5, 1.5), strict=True)}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Return times that are twice the sum of the components, with an error of 5 percent."""
    grid = pd.MultiIndex.from_product(
        [NAMES[:3], ["net", "wide"], ["float16", "float32"], [8, 32, 128, 512], [32, 64]],
        names=["device", "network", "dtype", "batch_size", "image_size"],
    ).to_frame(index=False)
    table = complete(grid.assign(phase="inference", unit="step", time_s=1.0))
    prepared, _ = prepare(table, SMALL, DEVICES)
    noise = np.random.default_rng(0).normal(0.0, 0.05, len(table))
    return table.assign(time_s=2 * prepared.seconds.sum(axis=1) * np.exp(noise))


@pytest.fixture(scope="module")
def model(rows: pd.DataFrame) -> ImageNetworks:
    return fit(rows, SMALL, DEVICES)


def _errors(model: ImageNetworks, rows: pd.DataFrame) -> np.ndarray:
    return model.predict(rows, DEVICES)["predicted"].to_numpy() / rows["time_s"].to_numpy() - 1


def test_a_measured_device_is_predicted_within_its_noise(model: ImageNetworks, rows: pd.DataFrame) -> None:
    assert np.abs(_errors(model, rows)).mean() < 0.07


def test_bfloat16_without_units_has_no_measurements_of_float16(model: ImageNetworks, rows: pd.DataFrame) -> None:
    measured = rows[(rows["device"] == "one") & (rows["dtype"] == "float16")].reset_index(drop=True)
    asked = measured.assign(dtype="bfloat16")
    newer = {"one": replace(DEVICES["one"], matrix_flops_per_s={FLOAT16: 1e14, BFLOAT16: 1e14})}
    half, without, with_units = (
        model.predict(*each) for each in ((measured, DEVICES), (asked, DEVICES), (asked, newer))
    )
    assert with_units["predicted"].to_list() == half["predicted"].to_list()
    assert (without["predicted"] > 1.2 * half["predicted"])[(asked["batch_size"] == 512).to_numpy()].all()
    own = model.rows["one|inference|half"]
    assert set(with_units["basis_rows"]) == {own}
    assert set(without["basis_rows"]) == {sum(model.rows.values())}


def test_an_unseen_device_is_scaled_by_its_description(model: ImageNetworks, rows: pd.DataFrame) -> None:
    of_one = rows[rows["device"] == "one"]
    seen = model.predict(of_one, DEVICES)
    unseen = model.predict(of_one.assign(device="new"), DEVICES)
    large = (of_one["batch_size"] == 512).to_numpy()
    assert (unseen["predicted"] < seen["predicted"])[large].all()
    assert (np.log(unseen["upper"] / unseen["lower"]) > 1.05 * np.log(seen["upper"] / seen["lower"])).all()


def test_times_in_tf32_tell_of_float32_only_without_units_for_it(rows: pd.DataFrame) -> None:
    matrix = MappingProxyType({FLOAT16: 1e14, TF32: 5e13})
    devices = {**DEVICES, "one": replace(DEVICES["one"], matrix_flops_per_s=matrix)}
    relaxed = rows.assign(dtype=rows["dtype"].replace("float32", TF32))
    model = fit(relaxed, SMALL, devices)
    asked = rows[(rows["dtype"] == "float32") & (rows["batch_size"] == 512)]
    found = model.predict(asked, devices)
    width = pd.Series(np.log(found["upper"] / found["lower"]).to_numpy(), index=asked["device"].to_numpy())
    assert width["one"].min() > width["two"].max()
    own = [model.rows.get(f"{name}|inference|{dtype}", 0) for name in ("one", "two") for dtype in (TF32, "float32")]
    assert own == [16, 0, 0, 16]


def test_intervals_hold_the_measured_times(model: ImageNetworks, rows: pd.DataFrame) -> None:
    found = model.predict(rows, DEVICES)
    assert rows["time_s"].between(found["lower"], found["upper"]).mean() > 0.85


def test_refusals_have_reasons(model: ImageNetworks, rows: pd.DataFrame) -> None:
    asked = rows.head(4).assign(
        device=["nowhere", "one", "one", "one"],
        dtype=["float16", "int3", "float16", "float16"],
        network=["net", "net", "absent", "net"],
        unit=["step", "step", "step", "epoch"],
    )
    found = model.predict(asked, DEVICES)
    assert found["predicted"].isna().all()
    for reason, words in zip(found["reason"], ("no description", "int3", "catalog", "epoch"), strict=True):
        assert words in reason


def test_json_keeps_the_predictions(model: ImageNetworks, rows: pd.DataFrame) -> None:
    read = ImageNetworks.from_json(json.loads(json.dumps(model.to_json())), SMALL)
    pd.testing.assert_frame_equal(read.predict(rows, DEVICES), model.predict(rows, DEVICES))


def test_without_measurements_the_roofline_predicts_with_wide_intervals(rows: pd.DataFrame) -> None:
    catalog: Catalog = SMALL
    model = fit(rows.head(0), catalog, DEVICES)
    found = model.predict(rows, DEVICES)
    assert (found["upper"] / found["lower"] > 4).all()
    training = model.predict(rows.assign(phase="training"), DEVICES)
    assert (training["predicted"] > 2 * found["predicted"]).all(), "two more passes"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, SAME_MODE),
        ({"phase": "training"}, SAME_MODE),
        ({"execution": "compiled"}, OTHER_MODE),
        ({"device": "cores"}, NOT_MEASURED),
        ({"network": "absent"}, REFUSED),
        ({"device": "nowhere"}, REFUSED),
    ],
)
def test_modes_that_were_measured_are_known(
    model: ImageNetworks, rows: pd.DataFrame, change: dict[str, str], expected: str
) -> None:
    devices = {**DEVICES, "cores": replace(DEVICES["one"], kind=CPU)}
    assert set(model.measured(rows.assign(**change), devices)) == {expected}


def test_a_slow_device_is_slow_in_the_phase_that_was_not_measured_on_it(rows: pd.DataFrame) -> None:
    model = fit(rows.assign(time_s=rows["time_s"] * np.where(rows["device"] == "two", 2.0, 1.0)), SMALL, DEVICES)
    core = model.cores[GPU]
    without = replace(model, cores={GPU: replace(core, offsets={})})
    asked = rows[(rows["device"] == "two") & (rows["dtype"] == "float16")].assign(phase="training")
    slower = model.predict(asked, DEVICES)["predicted"] / without.predict(asked, DEVICES)["predicted"]
    offset = core.offsets["two|inference|half"]
    assert offset > 0.1
    assert slower.to_numpy() == pytest.approx(np.exp(offset))


def test_time_is_spent_on_launches_of_small_batches_and_on_arithmetic_of_large_ones(rows: pd.DataFrame) -> None:
    model = fit(rows.head(0), SMALL, DEVICES)
    devices = {"one": DEVICES["one"], "cores": replace(DEVICES["one"], name="cores", kind=CPU)}
    asked = rows.head(3).assign(
        device=["one", "one", "cores"], network="timm/net", dtype="float32", batch_size=[1, 1 << 20, 1], image_size=64
    )
    found = model.spent(asked, devices)
    assert found.launches[0] > 1.0 > found.launches[1] > found.launches[2] == 0.0
    assert found.shares.sum(axis=1).to_numpy() == pytest.approx(np.ones(3))
    assert set(found.shares.columns[(found.shares > 0.01).any()]) == {"conv", "gemm", "pointwise"}
    slow = {"one": replace(DEVICES["one"], vector_flops_per_s=1e9)}
    assert model.spent(asked.head(1), slow).compute[0] > 0.9
    assert model.spent(asked.head(1), {"one": replace(slow["one"], memory_bytes_per_s=1e6)}).compute[0] < 0.1
    assert np.isnan(model.spent(asked.assign(network="absent"), devices).compute).all()


def test_ratios_of_devices_are_calibrated_by_kind_of_device(model: ImageNetworks) -> None:
    found = model.ratio_errors([DEVICES["one"], DEVICES["new"]])
    assert (found.devices, found.pairs) == (3, 3)
    assert found.factor < PRIOR_OF_RATIOS.factor
    host = replace(DEVICES["one"], kind=CPU)
    assert model.ratio_errors([DEVICES["one"], host]) == PRIOR_OF_RATIOS  # no CPU was measured
    assert model.ratio_errors([]) == PRIOR_OF_RATIOS


def test_one_family_leaves_out_networks_and_one_network_has_the_prior(rows: pd.DataFrame) -> None:
    family = rows.assign(family="only")
    found = fit(family, SMALL, DEVICES)
    assert 0.0 < found.intervals[GPU].seen.quantiles[""] < 10.0
    alone = fit(family[family["network"] == "net"], SMALL, DEVICES)
    assert alone.intervals[GPU] == prior_intervals()


def test_networks_are_left_out_whatever_their_first_letter(rows: pd.DataFrame) -> None:
    capital = rows.assign(network=rows["network"] + "_other", gmacs=1.0).replace({"network": {"wide_other": "Wide"}})
    found = fit(pd.concat([rows, capital], ignore_index=True), SMALL, DEVICES)
    assert found.intervals[GPU].seen.clusters == 4  # networks with errors


def test_a_new_device_has_the_errors_of_new_networks_too(model: ImageNetworks) -> None:
    found = model.intervals[GPU]
    assert all(found.unseen.quantiles[name] >= value for name, value in found.seen.quantiles.items())
    assert found.unseen.cluster > 0.0


@pytest.mark.parametrize("state", [{"clock_mhz": 750.0}, {"power_limit_w": 150.0}])
def test_times_in_lower_states_do_not_count(model: ImageNetworks, rows: pd.DataFrame, state: dict[str, float]) -> None:
    slow = rows.assign(time_s=3 * rows["time_s"], **state)
    found = fit(pd.concat([rows, slow], ignore_index=True), SMALL, DEVICES)
    pd.testing.assert_frame_equal(found.predict(rows, DEVICES), model.predict(rows, DEVICES))


def test_a_few_rows_of_a_kind_of_device_are_not_conditions_that_the_model_knows(rows: pd.DataFrame) -> None:
    """Without enough rows for a fit, the prior answers, which does not rest on them."""
    devices = {**DEVICES, "host": replace(DEVICES["one"], name="host", kind=CPU)}
    few = rows[rows["device"] == "one"].head(5).assign(device="host")
    found = fit(pd.concat([rows, few], ignore_index=True), SMALL, devices)
    assert set(found.measured(rows, devices)) == {SAME_MODE}
    assert set(found.measured(few, devices)) == {NOT_MEASURED}
    only = fit(few, SMALL, devices).predict(few, devices)
    assert (only["basis_rows"] == 0).all()
