"""All models of one data set: fitted, written as text, read again; priors without data."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.predict import fleet_file
from hpcbench.predict.devices.device import Scaling
from hpcbench.predict.fleet import Fleet, fit
from hpcbench.predict.sets.data_set import DataSet, rows_to_predict, rows_to_train_on
from tests.predict.sets import raw_files
from tests.predict.time import made_up


@pytest.fixture(scope="module")
def fitted() -> Fleet:
    return fit(rows_to_train_on(raw_files.folder()))


def predictions(fleet: Fleet, data: DataSet) -> pd.DataFrame:
    operators = fleet.predict_operators(data.operators, data.devices)
    networks = fleet.predict_networks(data.networks, data.lists, data.devices)
    tables = [*operators.items(), *networks.items()]
    return pd.concat([table[["predicted", "lower", "upper", "reason"]] for _, table in tables], keys=range(len(tables)))


def test_a_fleet_read_from_text_predicts_the_same(fitted: Fleet) -> None:
    data = rows_to_predict(raw_files.folder())
    again = fleet_file.from_text(fleet_file.to_text(fitted), "fleet.json")
    pd.testing.assert_frame_equal(predictions(again, data), predictions(fitted, data))
    assert again.basis == fitted.basis
    assert again.versions == fitted.versions
    assert again.typical_errors == fitted.typical_errors
    assert again.devices == fitted.devices


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("leaf_value=", "leaf_value=x", "LightGBM cannot read a model"),
        ("num_class=1", "num_class=x", "does not predict one value"),
        ("num_class=1", "", "LightGBM cannot read a model"),
    ],
)
def test_altered_models_of_lightgbm_are_refused_when_the_file_is_read(
    fitted: Fleet, old: str, new: str, what: str
) -> None:
    """The checksum is right: a program has altered the file."""
    pytest.importorskip("lightgbm")
    time = made_up.fit(made_up.products(made_up.DEVICES, 150), made_up.DEVICES)
    gemm = time.core.efficiencies["gemm"]
    altered = replace(gemm, shared=replace(gemm.shared, text=gemm.shared.text.replace(old, new)))
    assert altered != gemm
    fleet = replace(fitted, operator_time=replace(time, core=replace(time.core, efficiencies={"gemm": altered})))
    with pytest.raises(UserError, match=what) as caught:
        fleet_file.from_text(fleet_file.to_text(fleet), "fleet.json")
    assert (caught.value.where, caught.value.hint) == ("fleet.json", "fit it again: hpcbench predictor fit")


def test_intervals_surround_predictions_and_refused_rows_have_reasons(fitted: Fleet) -> None:
    found = predictions(fitted, rows_to_predict(raw_files.folder()))
    answered = found[found["reason"] == ""]
    assert len(answered)
    assert (answered["lower"] < answered["predicted"]).all()
    assert (answered["predicted"] < answered["upper"]).all()
    assert found.loc[found["reason"] != "", ["predicted", "lower", "upper"]].isna().all(axis=None)


def test_devices_without_a_description_are_refused_in_the_same_words(fitted: Fleet) -> None:
    data = rows_to_predict(raw_files.folder())
    lost = DataSet(data.operators, data.networks, data.lists, {}, data.files)
    found = predictions(fitted, lost)
    assert set(found["reason"]) == {
        "description of device 'GPU A' not found",
        "description of device 'GPU B' not found",
    }
    assert found["predicted"].isna().all()


def test_measured_peaks_of_cpus_are_kept(fitted: Fleet) -> None:
    cpu = replace(fitted.devices["GPU A"], scaling=(Scaling(1, 1e10, 1e9), Scaling(8, 7e10, 0.0)))
    again = fleet_file.from_text(fleet_file.to_text(replace(fitted, devices={"GPU A": cpu})), "fleet.json")
    assert again.devices["GPU A"] == cpu


def test_progress_ends_with_all_steps() -> None:
    steps: list[tuple[int, int]] = []
    fit(rows_to_train_on(raw_files.folder()), lambda done, of: steps.append((done, of)))
    assert steps[0][0] == 0
    assert steps[-1][0] == steps[-1][1]


def test_priors_answer_without_data() -> None:
    prior = fit(DataSet())
    assert prior.basis.rows == {}
    assert prior.typical_errors == ()
    data = rows_to_predict(raw_files.folder())
    time = prior.predict_operators(data.operators, data.devices)["time_s"]
    assert (time["reason"] == "").all()
    assert (time["upper"] / time["lower"] > 1.5).all(), "wide intervals"


def test_typical_errors_are_of_devices_in_the_data_and_of_others(fitted: Fleet) -> None:
    by_kind = {(each.kind, each.quantity): each for each in fitted.typical_errors}
    gemm = by_kind["gemm", "time_s"]
    assert 0 < gemm.seen[0] < 100
    assert gemm.unseen[1] >= gemm.seen[1]


def test_devices_of_the_fit_keep_the_descriptions_of_the_fit(fitted: Fleet) -> None:
    own = fitted.devices["GPU A"]
    sheet = replace(own, name="gpu-a", aliases=("A", "other name"), units=99)
    found = fitted.with_own(dict.fromkeys(sheet.names, sheet) | {"new": replace(own, name="new", aliases=())})
    assert {name: device.name for name, device in found.items()} == {
        **dict.fromkeys(("gpu-a", "A", "other name", "GPU A", "GPU-A"), "GPU A"),
        "GPU B": "GPU B",
        "new": "new",
    }
    assert found["gpu-a"].units == 100


def test_one_name_of_a_device_is_enough_to_be_that_of_the_fit(fitted: Fleet) -> None:
    own = fitted.devices["GPU A"]
    sheet = replace(own, name="gpu-a", aliases=("GPU A",), units=99)
    found = fitted.with_own({"gpu-a": sheet, "node (GPU)": sheet})
    assert {found[name].name for name in ("gpu-a", "node (GPU)", "GPU A")} == {"GPU A"}


@pytest.mark.parametrize("file", ["networks_time_torchvision", "networks_time_transformers"])
def test_networks_without_measured_power_have_power_and_energy(fitted: Fleet, file: str) -> None:
    data = rows_to_predict(raw_files.folder())
    rows = data.networks[data.networks["file"].str.startswith(file)]
    found = fitted.predict_networks(rows, data.lists, data.devices)
    answered = found["energy_j"]["reason"] == ""
    assert answered.any()
    product = found["time_s"]["predicted"] * found["power_w"]["predicted"]
    assert found["energy_j"]["predicted"][answered].to_numpy() == pytest.approx(product[answered].to_numpy())


def test_names_with_and_without_the_vendor_are_the_same_device(fitted: Fleet) -> None:
    other = replace(fitted.devices["GPU A"], name="gpu-a", aliases=("NVIDIA GPU A",), units=7)
    known = fitted.with_own({"gpu-a": other, "gpu-b2": replace(other, name="gpu-b2", aliases=())})
    assert known["gpu-a"] == known["NVIDIA GPU A"] == fitted.devices["GPU A"]
    assert known["gpu-b2"].units == 7


def test_operators_that_no_model_of_times_can_use_are_flaws(fitted: Fleet) -> None:
    data = rows_to_train_on(raw_files.folder())
    slow = data.operators.head(3).assign(clock_mhz=1.0)
    found = fit(replace(data, operators=pd.concat([data.operators, slow], ignore_index=True)))
    flaw = "3 rows left out of the model of times (their clock is below the boost clock)"
    assert found.basis.flaws == (*fitted.basis.flaws, flaw)
