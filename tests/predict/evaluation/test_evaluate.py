"""Predictions in the units of files, joined with the measurements of their rows."""

from __future__ import annotations

import math
from typing import Any, cast

import pandas as pd
import pytest

from hpcbench.predict.basis import basis_of
from hpcbench.predict.evaluation.answers import COLUMNS, answers
from hpcbench.predict.evaluation.evaluate import compared, evaluate
from hpcbench.predict.evaluation.measurements import measurements
from hpcbench.predict.fleet import Fleet
from hpcbench.predict.sets.data_set import DataSet, rows_to_predict, rows_to_train_on
from tests.predict.evaluation.fake_fleet import FakeFleet
from tests.predict.sets import raw_files

FLEET = cast(Fleet, FakeFleet())


def power_file() -> pd.DataFrame:
    rows = raw_files.operators().head(2)
    return rows.assign(power_w=[100.0, 50.0], energy_mj=[10.0, 10.0])


def files(**more: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {**raw_files.folder(), **more}


def test_there_is_one_line_per_row_and_target_in_the_unit_of_the_file() -> None:
    data = rows_to_predict({"operators_power.csv": power_file(), **files()})
    lines = answers(FLEET, data)
    assert list(lines.columns) == list(COLUMNS)
    assert len(lines) == 2 * 3 + 7 * 1 + 3 * 1 + 2 * 3
    first = lines.head(6)
    assert list(first["file"]) == ["operators_power.csv"] * 6
    assert list(first["row"]) == [0, 0, 0, 1, 1, 1]
    assert list(first["quantity"]) == ["latency_ms", "power_w", "energy_mj"] * 2
    assert list(first["predicted"]) == pytest.approx([0.2, 200, 20, 0.4, 100, 20])
    assert list(first["lower"]) == pytest.approx([0.05, 50, 5, 0.1, 25, 5])


def test_a_refused_row_has_a_reason_and_no_values() -> None:
    unknown = files()
    unknown["networks_time_torchvision.csv"] = raw_files.torchvision().assign(device=["GPU A", "X", "GPU A"])
    lines = answers(FLEET, rows_to_predict(unknown))
    line = lines[lines["file"] == "networks_time_torchvision.csv"].iloc[1]
    assert line["reason"] == "no value"
    assert line[["predicted", "lower", "upper"]].isna().all()


def test_devices_are_seen_by_kind_and_operators_of_few_rows_are_counted() -> None:
    data = rows_to_predict(files())
    train = data.where(
        (data.operators["kind"] == "gemm").to_numpy(), (data.networks["phase"] == "inference").to_numpy()
    )
    found = measurements(data, basis_of(train))
    by_file = {file: set(rows["seen"]) for file, rows in found.groupby("file")}
    assert by_file["operators_time.csv"] == {"1 row"}
    assert by_file["networks_time_torchvision.csv"] == {"seen"}
    nothing = measurements(data, basis_of(DataSet()))
    assert set(nothing["seen"]) == {"unseen"}
    assert nothing["is_new_network"].sum() == 3 + 2 * 3
    assert set(nothing["vendor"]) == {"NVIDIA"}


def test_scores_compare_only_measured_targets() -> None:
    data = rows_to_predict(files())
    basis = basis_of(data)
    result = compared(answers(FLEET, data), measurements(data, basis), basis)
    whole = {(each.file, each.quantity): each for each in result.scores if each.part == "all"}
    operators = whole["operators_time.csv", "latency_ms"]
    assert (operators.rows, operators.mape, operators.bias, operators.coverage) == (
        7,
        pytest.approx(100),
        pytest.approx(100),
        1,
    )
    backward = whole["networks_time_transformers.csv", "backward_ms"]
    assert (backward.rows, backward.refused) == (1, 0), "inference has no measured backward pass"
    assert result.reasons == {"no value": 1}
    (pairs,) = [each for each in result.choices if each.question == "order of two devices"]
    assert (pairs.choices, pairs.right) == (1, 1)


def test_impossible_measurements_are_not_compared_and_counted() -> None:
    operators = raw_files.operators()
    operators.loc[:2, "latency_ms"] = [0.0, -1.0, math.inf]
    data = rows_to_predict({"devices.csv": raw_files.devices(), "operators_time.csv": operators})
    what = "not compared (time zero, negative or infinite)"
    assert data.flaws == (f"operators_time.csv: 3 rows {what}",)
    basis = basis_of(data)
    result = compared(answers(FLEET, data), measurements(data, basis), basis)
    (found,) = [each for each in result.scores if each.part == "all"]
    assert (found.rows, found.mape) == (4, pytest.approx(100))


def test_without_targets_there_are_predictions_and_no_scores() -> None:
    raw = files()
    raw = {
        name: rows.drop(columns=["latency_ms", "time_ms", "forward_ms", "backward_ms"], errors="ignore")
        for name, rows in raw.items()
    }
    data = rows_to_predict(raw)
    result = compared(answers(FLEET, data), measurements(data, basis_of(data)), basis_of(data))
    assert result.scores == []
    assert result.choices == []
    assert len(result.predictions) == 7 + 3 + 6
    shown: dict[str, Any] = result.to_json()
    assert shown["scores"] == []


def jobs(network: str, data: str) -> pd.DataFrame:
    """Return training jobs of a network on GPU A under power limits; the least energy is at 150 W."""
    fixed = {"device": "GPU A", "network": network, "dataset": data, "batch_size": 8, "optimizer": "adam"}
    rows = [(100, 200.0, 98.0), (150, 120.0, 145.0), (200, 105.0, 190.0), (250, 100.0, 230.0)]
    found = pd.DataFrame(rows, columns=["power_limit_w", "time_per_epoch_s", "power_w"]).assign(**fixed)
    return found.assign(energy_per_epoch_j=found["time_per_epoch_s"] * found["power_w"])


def test_the_limit_of_a_job_of_unknown_size_is_chosen_and_its_time_is_refused() -> None:
    train = rows_to_train_on({"devices.csv": raw_files.devices(), "networks_energy_training.csv": jobs("one", "known")})
    test = rows_to_predict({"networks_energy_training.csv": jobs("two", "unknown")})
    result = evaluate(train, test, lambda done, of: None)
    by_quantity = {each.quantity: each for each in result.scores if each.part == "all"}
    assert by_quantity["time_per_epoch_s"].refused == 4
    assert by_quantity["power_w"].refused == 0
    (limit,) = [each for each in result.choices if each.quantity == "energy_per_epoch_j"]
    assert (limit.question, limit.choices) == ("best power limit", 1)
    assert limit.regret < 15
