"""The divisions of `make bench-predict`: whole devices, families and shapes are left out, never rows at random."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.basis import basis_of
from hpcbench.predict.evaluation.choices import BEST, Choice
from hpcbench.predict.evaluation.measurements import measurements
from hpcbench.predict.evaluation.scores import ALL, Score
from hpcbench.predict.sets.data_set import DataSet, rows_to_train_on
from tests.predict.sets import raw_files

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # as for a script of that folder
import predict_acceptance
import predict_splits
import predict_table


@pytest.fixture
def data() -> DataSet:
    rows = raw_files.operators()
    many = [rows.assign(device=name, latency_ms=rows["latency_ms"] + 0.01 * place, h=rows["h"] * 2**place)
            for name in ("GPU A", "GPU B") for place in range(5)]  # fmt: skip
    networks = pd.concat([raw_files.torchvision().assign(network=name) for name in "abcde"], ignore_index=True)
    files = {"operators_time.csv": pd.concat(many, ignore_index=True), "networks_time_torchvision.csv": networks}
    return rows_to_train_on({"devices.csv": raw_files.devices(), **files})


def keys(table: pd.DataFrame) -> set[tuple[str, int]]:
    return set(zip(table["file"], table["row"], strict=True))


def test_a_device_is_either_trained_on_or_tested(data: DataSet) -> None:
    splits = list(predict_splits.leave_one_device_out(data))
    assert [each.name for each in splits] == ["without GPU A", "without GPU B"]
    for each in splits:
        assert not set(each.train.operators["device"]) & set(each.test.operators["device"])
        assert not set(each.train.networks["device"]) & set(each.test.networks["device"])
        assert len(each.train.operators) + len(each.test.operators) == len(data.operators)


def test_devices_are_left_out_by_their_whole_names(data: DataSet) -> None:
    splits = [
        *predict_splits.leave_one_device_out(data),
        *predict_splits.with_few_operators(data, 1),
        *predict_splits.leave_groups_out(data),
    ]
    found = [each.name for each in predict_splits.of_devices(splits, ["GPU A"])]
    assert found[:2] == ["without GPU A", f"{predict_splits.FEW} operators of GPU A, seed 0"]
    assert found[2:] == [each.name for each in splits if each.name.startswith("fold")]
    assert not list(predict_splits.of_devices(splits[:4], ["GPU"]))
    assert len(list(predict_splits.of_devices(splits, None))) == len(splits)


def test_few_operators_of_a_device_are_trained_on(data: DataSet) -> None:
    for each in predict_splits.with_few_operators(data, seeds=2):
        (device,) = set(each.test.operators["device"])
        assert (each.train.operators["device"] == device).sum() == predict_splits.FEW
        assert (each.train.networks["device"] == device).sum() == 0
        assert each.test.networks.empty
        assert not keys(each.train.operators) & keys(each.test.operators)


def test_few_devices_of_the_same_file_are_trained_on(data: DataSet) -> None:
    third = data.operators[data.operators["device"] == "GPU A"].assign(device="GPU C")
    other = third.assign(device="GPU D", file="operators_time_other.csv")
    three = replace(data, operators=pd.concat([data.operators, third, other], ignore_index=True))
    found = list(predict_splits.with_few_devices(three, seeds=2))
    assert [count for count, _ in found] == 3 * [1, 2, 1, 2]
    for count, each in found:
        trained = set(each.train.operators["device"])
        assert len(trained) == count
        assert "GPU D" not in trained
        assert set(each.test.operators["device"]) == {each.device}
        assert each.device not in trained
        assert each.train.networks.empty
        assert each.test.networks.empty


def test_a_learning_curve_has_a_line_per_number_file_and_quantity(
    data: DataSet, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    asked = measurements(data, basis_of(DataSet()))
    times = asked[asked["file"] == "operators_time.csv"].assign(lower=0.0, upper=lambda rows: 2 * rows["measured"])
    one, two = (
        times.assign(predicted=factor * times["measured"], number=place) for place, factor in ((1, 1.5), (2, 1.25))
    )
    importlib.import_module("predict").print_curve("measured devices", [one, two])
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if line] == [
        "learning curve, by number of measured devices",
        "1 operators_time.csv latency_ms, unseen NVIDIA:   50.0 (50.0) %, coverage 1.00, width 1.33",
        "2 operators_time.csv latency_ms, unseen NVIDIA:   25.0 (25.0) %, coverage 1.00, width 1.60",
    ]


@pytest.mark.parametrize(("devices", "names"), [(None, ["GPU A", "GPU B"]), (["GPU A"], ["GPU A"]), ([], [])])
def test_learning_curves_cover_the_given_devices_and_skip_numbers_that_leave_no_operators(
    data: DataSet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    devices: list[str] | None,
    names: list[str],
) -> None:
    pytest.importorskip("sklearn")
    benchmark = importlib.import_module("predict")
    answered = measurements(data, basis_of(DataSet())).assign(lower=0.0, predicted=1.0, upper=2.0)
    fitted = []

    def scored_splits(splits: list[predict_splits.Split], with_baselines: bool) -> pd.DataFrame:
        fitted.extend(splits)
        return answered

    monkeypatch.setattr(benchmark, "scored_splits", scored_splits)
    benchmark.print_learning_curves(data, 1, devices)
    assert [each.device for each in fitted] == 2 * names
    lines = capsys.readouterr().out.splitlines()
    numbers = {int(line[:6].replace(",", "")) for line in lines if line.startswith("  ")}
    assert numbers == ({1, predict_splits.FEW} if names else set())
    assert sum(line.startswith("no learning curve") for line in lines) == (0 if names else 2)


def test_a_device_with_as_few_operators_has_none_left_to_predict(data: DataSet) -> None:
    is_first = (data.operators["device"] == "GPU A").to_numpy()
    kept = data.where(~is_first | (np.cumsum(is_first) <= predict_splits.FEW), np.ones(len(data.networks), dtype=bool))
    assert {each.device for each in predict_splits.with_few_operators(kept, seeds=1)} == {"GPU B"}


def test_a_benchmark_without_rows_to_predict_is_an_error(data: DataSet) -> None:
    pytest.importorskip("sklearn")
    nothing = data.where(np.zeros(len(data.operators), dtype=bool), np.zeros(len(data.networks), dtype=bool))
    splits = [predict_splits.Split("empty", data, nothing)]
    with pytest.raises(SystemExit, match="no split of the data has rows to predict"):
        importlib.import_module("predict").scored_splits(splits, with_baselines=False)


def test_baselines_have_no_rates_of_a_device_without_a_description() -> None:
    pytest.importorskip("sklearn")
    rows = raw_files.operators().assign(device="undescribed")
    data = rows_to_train_on({"operators_time.csv": rows})
    asked = measurements(data, basis_of(DataSet()))
    baselines = importlib.import_module("predict_baselines").baselines
    assert baselines(data, data, asked)["roofline"].isna().all()


def test_families_and_shapes_are_left_out_whole(data: DataSet) -> None:
    splits = list(predict_splits.leave_groups_out(data))
    assert sum(len(each.test.networks) for each in splits) == len(data.networks)
    for each in splits:
        assert not set(each.train.networks["network"]) & set(each.test.networks["network"])
        shapes = [
            set(zip(part.operators["kind"], np.log2(part.operators["columns"]), strict=True))
            for part in (each.train, each.test)
        ]
        row_wise = [{pair for pair in found if not np.isnan(pair[1])} for found in shapes]
        assert not row_wise[0] & row_wise[1]


def test_large_files_are_sampled_evenly(data: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict_splits, "MOST_TESTED", 10)
    (first, _) = predict_splits.leave_one_device_out(data)
    assert 5 <= len(first.test.operators) <= 10
    assert set(first.test.operators["device"]) == {"GPU A"}


def test_the_best_of_devices_and_states_has_limits_by_time_and_by_energy() -> None:
    unseen = [Choice("networks.csv", quantity, BEST, 20, 0.94) for quantity in ("time_ms", "energy_j")]
    lines = [" ".join(line.split()) for line in predict_acceptance.acceptance([], unseen, [])]
    assert lines == [
        "acceptance",
        f"{BEST}: networks.csv time_ms [unseen] 94.0% of 20 >= 95% MISSED",
        f"{BEST}: networks.csv energy_j [unseen] 94.0% of 20 >= 90% met",
    ]


def test_the_table_has_the_best_of_the_simple_models() -> None:
    def of_operators(mape: float, devices: str = "unseen NVIDIA") -> Score:
        return Score("operators_time.csv", "latency_ms", ALL, devices, 1200, mape, 10.0, 0.0, 0.9, 0.8, 1.25, 0)

    simple = {
        "roofline": [of_operators(61.0), of_operators(3.0, "seen NVIDIA")],
        "forest": [of_operators(float("nan"))],
        "boosting": [of_operators(25.0)],
    }
    assert list(predict_table.validation_table([of_operators(17.5)], simple)) == [
        "| Test | Values | MAPE (median) | Coverage | Width | Best simple model: MAPE |",
        "|---|---:|---:|---:|---:|---|",
        "| operators, unseen NVIDIA GPU | 1,200 | 17.5 (10.0) % | 90 % | 1.25 | 25.0 % (boosting) |",
    ]
