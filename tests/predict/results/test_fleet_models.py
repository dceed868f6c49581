"""Image networks of cases: which of two predictions counts, profiles, conditions, and networks without a list."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.devices.device import CPU, GPU
from hpcbench.predict.fleet import Fleet, fit
from hpcbench.predict.networks.catalog.catalog import catalog_of
from hpcbench.predict.networks.images import model as images
from hpcbench.predict.networks.images.core import prior_core
from hpcbench.predict.networks.images.prepared import prepare
from hpcbench.predict.networks.listed.measured import Measured, MeasuredTime, measured_times
from hpcbench.predict.networks.listed.ratio import SumRatio
from hpcbench.predict.results.cases import asked
from hpcbench.predict.results.fleet_models import FleetModels
from hpcbench.predict.results.state import State
from hpcbench.predict.results.table import AS_EAGER, ENERGY, OF_LIST, OF_NAME, POWER, SOURCE, TIME
from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.tables import operators
from hpcbench.predict.tables.network_kinds import IMAGE
from hpcbench.predict.tables.networks import complete
from tests.predict.networks.listed.fleet_of_two import DEVICES, a_list, device, gemm
from tests.predict.networks.small_catalog import CONTENT

CATALOG = catalog_of(CONTENT)
KNOWN = {**DEVICES, "cores": device("cores", kind=CPU)}
LISTS = a_list("c1", gemm(1024, 1024, 1024, calls=10))


def measured_networks() -> pd.DataFrame:
    """Return times of two networks on two devices that are those of the prior, with an error of 2 percent."""
    grid = pd.MultiIndex.from_product(
        [list(DEVICES), ["timm/net", "timm/wide"], ["float16", "float32"], [32, 512, 2048, 8192], [32, 64]],
        names=["device", "network", "dtype", "batch_size", "image_size"],
    ).to_frame(index=False)
    rows = complete(grid.assign(phase="inference", unit="step", execution="eager", time_s=1.0))
    prepared, _ = prepare(rows, CATALOG, KNOWN)
    noise = np.random.default_rng(0).normal(0.0, 0.02, len(rows))
    return rows.assign(time_s=np.exp(prior_core(GPU).log_times(prepared)[0] + noise))


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    prior = fit(DataSet())
    rested = replace(prior.basis, rows={IMAGE: {"first": 32, "second": 32}})
    return replace(prior, images=images.fit(measured_networks(), CATALOG, KNOWN), basis=rested)


def rows(states: tuple[State, ...] = (), on: str = "first", **changes: Any) -> pd.DataFrame:
    case = {
        "case": "c1",
        "label": "",
        "items_per_step": 32,
        "refused": "",
        "unlisted": "",
        "list_id": "c1",
        "image_network": "timm/net",
        "network": "timm/net",
        "phase": "inference",
        "dtype": "float16",
        "execution": "eager",
        "batch_size": 32,
        "image_size": 64,
    }
    return asked(pd.DataFrame([{**case, **changes}]), {on: states})


def predicted(fleet: Fleet, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return FleetModels(fleet).predict_networks(table, LISTS, KNOWN)


def test_measured_image_networks_count_more_than_operators(fleet: Fleet) -> None:
    time = predicted(fleet, rows())[TIME].iloc[0]
    by_name = fleet.images.predict(rows(), KNOWN).iloc[0]
    assert time[SOURCE] == OF_NAME
    assert time["predicted"] == pytest.approx(by_name["predicted"], rel=1e-9)
    assert (time["basis_rows"], time["basis_devices"], time["device_rows"]) == (64, 2, 32)
    without = predicted(fleet, rows(image_network=""))[TIME].iloc[0]
    assert without[SOURCE] == OF_LIST


@pytest.mark.parametrize(
    ("on", "change", "source", "count"),
    [
        ("first", {"execution": "compiled"}, OF_LIST, 64),
        ("first", {"phase": "training"}, OF_NAME, 64),
        ("cores", {"dtype": "float32"}, OF_NAME, 0),  # only GPUs were measured
        ("first", {"dtype": "int8"}, OF_LIST, 64),  # the model of image networks refuses it
    ],
)
def test_an_execution_mode_without_measurements_has_the_list(
    fleet: Fleet, on: str, change: dict[str, Any], source: str, count: int
) -> None:
    time = predicted(fleet, rows(on=on, **change))[TIME]
    assert time[SOURCE].tolist() == [source]
    if source == OF_NAME:
        assert time["basis_rows"].tolist() == [count]


def test_without_measurements_the_name_counts() -> None:
    prior = fit(DataSet())
    found = predicted(prior, rows(image_network="torchvision/resnet18"))[TIME].iloc[0]
    assert (found[SOURCE], found["basis_rows"]) == (OF_NAME, 0)


def with_operators(fleet: Fleet, kind: str, profiled: bool = False) -> Fleet:
    """Return a fleet with measured operators of a kind on the first device, and with a profile of a network."""
    time = fleet.listed.operator_time
    profile = {"first|nan|gemm": (Measured(float("nan"), float("nan"), 0.0),)} if profiled else {}
    listed = replace(fleet.listed, operator_time=MeasuredTime(time.others, profile))
    measured = replace(fleet.operator_time, rows={f"{kind}|first": 24})
    return replace(fleet, operator_time=measured, listed=listed)


@pytest.mark.parametrize(
    ("kind", "profiled", "source"), [("gemm", True, OF_LIST), ("conv", True, OF_NAME), ("gemm", False, OF_NAME)]
)
def test_a_profile_of_most_operators_of_the_device_counts_more_than_other_measurements(
    fleet: Fleet, kind: str, profiled: bool, source: str
) -> None:
    measured = with_operators(fleet, kind, profiled)
    assert predicted(measured, rows())[TIME][SOURCE].tolist() == [source]
    assert predicted(measured, rows(on="second"))[TIME][SOURCE].tolist() == [OF_NAME]


@pytest.mark.parametrize(("kind", "source"), [("gemm", OF_LIST), ("conv", OF_NAME)])
def test_without_measured_image_networks_only_operators_that_matter_for_the_device_count(
    kind: str, source: str
) -> None:
    prior = fit(DataSet())
    measured = with_operators(prior, kind)
    asked = rows(image_network="torchvision/resnet18")
    assert predicted(measured, asked)[TIME][SOURCE].tolist() == [source]
    if source == OF_NAME:
        same = [predicted(each, asked)[TIME].iloc[0] for each in (prior, measured)]
        pd.testing.assert_series_equal(*same)
    assert predicted(measured, asked.assign(device="second"))[TIME][SOURCE].tolist() == [OF_NAME]


def test_a_prediction_does_not_depend_on_the_other_devices(fleet: Fleet) -> None:
    profiled = with_operators(fleet, "gemm", profiled=True)
    case = rows().drop(columns=["device", "state", "clock_mhz", "power_limit_w"])
    both = predicted(profiled, asked(case, {"second": (), "first": ()}))[TIME]
    assert both[SOURCE].tolist() == [OF_NAME, OF_LIST]
    alone = [predicted(profiled, rows(on=name))[TIME]["predicted"].item() for name in ("second", "first")]
    assert both["predicted"].tolist() == pytest.approx(alone, rel=1e-12)


def test_the_highest_clock_and_limit_are_those_of_the_default_state(fleet: Fleet) -> None:
    own = KNOWN["first"]
    states = (State(clock_mhz=own.boost_mhz), State(power_limit_w=own.board_power_w), State(power_limit_w=60.0))
    found = predicted(fleet, rows(states, image_network=""))
    for quantity in (TIME, POWER, ENERGY):
        usual, *same, limited = found[quantity]["predicted"]
        assert same == pytest.approx([usual, usual])
        assert limited != pytest.approx(usual)


def test_a_limit_below_the_idle_power_is_refused_for_all_quantities(fleet: Fleet) -> None:
    found = predicted(fleet, rows((State(power_limit_w=1.0),)))
    for quantity in (TIME, POWER, ENERGY):
        assert found[quantity]["reason"].tolist() == ["", "the power limit is below the predicted idle power"]
        assert np.isnan(found[quantity]["predicted"].iloc[1])


@pytest.mark.parametrize(
    ("size", "execution", "limit", "least", "most"),
    [(256, "eager", "launch", 1.0, 1.02), (256, "compiled", "compute", 1.8, 2.0), (4096, "eager", "compute", 1.6, 2.0)],
)
def test_what_limits_the_time_decides_how_it_grows_at_lower_clocks(
    fleet: Fleet, size: int, execution: str, limit: str, least: float, most: float
) -> None:
    models, lists = FleetModels(fleet), a_list("c1", gemm(size, size, size, calls=10))
    table = rows((State(clock_mhz=500.0),), image_network="", execution=execution, dtype="float32")
    time = models.predict_networks(table, lists, KNOWN)[TIME]["predicted"]
    assert models.explained(table, lists, KNOWN).limits.tolist() == [limit, limit]
    assert least <= time[1] / time[0] <= most


def test_cpus_have_no_launches_that_hide_lower_clocks(fleet: Fleet) -> None:
    table = rows((State(clock_mhz=500.0),), on="cores", image_network="", dtype="float32")
    time = predicted(fleet, table)[TIME]["predicted"]
    assert time[1] / time[0] > 1.5


def test_threads_of_the_host_do_not_matter_for_measured_operators_of_gpus(fleet: Fleet) -> None:
    measured = {**gemm(1024, 1024, 1024), "device": "first", "timing": operators.STREAM, "time_s": 1.0}
    table = operators.complete(pd.DataFrame([measured]))
    times = measured_times(table, ["first"], fleet.listed.operator_time.others)
    profiled = replace(fleet, listed=replace(fleet.listed, operator_time=times, ratio=SumRatio({})))
    found = predicted(profiled, rows(threads=4.0, image_network=""))[TIME]
    assert found["predicted"].tolist() == pytest.approx([10.0])


def test_a_network_without_a_list_is_predicted_by_its_name(fleet: Fleet) -> None:
    table = rows((State(clock_mhz=500.0),), list_id="", unlisted="torchvision is not installed", batch_size=1 << 22)
    models = FleetModels(fleet)
    found = models.predict_networks(table, LISTS, KNOWN)
    assert found[TIME][SOURCE].tolist() == [OF_NAME, OF_NAME]
    slower = found[TIME]["predicted"].tolist()
    assert slower[1] > slower[0] > 0
    assert (found[POWER]["predicted"] > 0).all()
    energy = found[POWER]["predicted"] * found[TIME]["predicted"]
    assert found[ENERGY]["predicted"].to_numpy() == pytest.approx(energy.to_numpy(), rel=1e-6)
    explained = models.explained(table, LISTS, KNOWN)
    assert explained.shares.sum(axis=1).tolist() == pytest.approx([1.0, 1.0])
    assert explained.limits.tolist() == ["memory"] * 2


def test_limits_and_shares_are_those_of_the_model_that_predicts(fleet: Fleet) -> None:
    """The operators of the list are products alone; the network of the catalog has convolutions."""
    models = FleetModels(fleet)
    for batch_size, limit in ((32, "launch"), (1 << 22, "memory")):
        table = rows((State(clock_mhz=500.0),), batch_size=batch_size)
        found = models.explained(table, LISTS, KNOWN)
        assert (found.shares["conv"] > 0.1).all()
        assert found.limits.tolist() == [limit] * 2
        time = models.predict_networks(table, LISTS, KNOWN)[TIME]["predicted"]
        assert (time[1] / time[0] < 1.02) == (limit == "launch")
    of_list = models.explained(rows(image_network=""), LISTS, KNOWN)
    assert of_list.shares.dropna(axis="columns").columns.tolist() == ["gemm"]


@pytest.mark.parametrize(("execution", "name"), [("compiled", "timm/net"), ("compiled", ""), ("eager", "timm/net")])
def test_compiled_networks_may_have_the_time_of_eager_ones(execution: str, name: str) -> None:
    lists = a_list("c1", gemm(4096, 4096, 4096, calls=10))
    table = rows(execution=execution, image_network=name and "torchvision/resnet18", dtype="float32")
    found = FleetModels(fit(DataSet())).predict_networks(table, lists, KNOWN)[TIME]
    assert found[AS_EAGER].tolist() == [execution == "compiled"]


def test_compiled_networks_with_fewer_or_faster_launches_have_a_time_of_their_own() -> None:
    table = rows(execution="compiled", image_network="")
    found = FleetModels(fit(DataSet())).predict_networks(table, a_list("c1", gemm(64, 64, 64, calls=10)), KNOWN)[TIME]
    assert found[AS_EAGER].tolist() == [False]


def test_the_batch_and_the_image_size_count(fleet: Fleet) -> None:
    def seconds(batch_size: int, image_size: int) -> float:
        table = rows(batch_size=batch_size, image_size=image_size)
        return float(predicted(fleet, table)[TIME]["predicted"].iloc[0])

    assert seconds(8192, 64) > 2 * seconds(8192, 32)
    assert seconds(8192, 64) > 2 * seconds(2048, 64)
