"""A few rows of a device correct the fleet for it."""

import json

import numpy as np
import pytest

from hpcbench.predict.time.few_rows import SIZES, FewRows, Subjects, fit_few_rows
from hpcbench.predict.time.prepared import Prepared, prepare
from tests.predict.time.made_up import DEVICES, EVENTS_S, FLOOR_S, products


def fleet_times(rows: Prepared, slowness: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of kernels and floors of a fleet whose kernels take `slowness` times their true time."""
    device = DEVICES["middle"]
    flops, moved = rows.rows["flops"].to_numpy(), rows.rows["bytes"].to_numpy()
    kernel = 1.5 * np.maximum(flops / device.vector_flops_per_s, moved / device.memory_bytes_per_s)
    return slowness * kernel, np.full(len(flops), FLOOR_S)


def subjects(rows: Prepared, family: str = "gemm|float32") -> Subjects:
    sizes = np.nan_to_num(rows.features[list(SIZES)].to_numpy())
    return Subjects(np.full(len(rows.rows), family, dtype="object"), rows.keys.to_numpy(dtype="object"), sizes)


def few(rows: Prepared, free_s: np.ndarray, floor_s: np.ndarray) -> FewRows:
    return fit_few_rows(subjects(rows), rows.rows["time_s"].to_numpy(), free_s, floor_s, rows.events_s)


def made_up(count: int, seed: int = 0) -> Prepared:
    return prepare(products({"middle": DEVICES["middle"]}, count, seed=seed), DEVICES)


def large(rows: Prepared) -> np.ndarray:
    return (rows.rows["time_s"] > 10 * (FLOOR_S + EVENTS_S)).to_numpy()


def test_a_fleet_that_is_right_is_not_corrected() -> None:
    rows = made_up(20)
    found = few(rows, *fleet_times(rows))
    assert found.kernel(subjects(made_up(50, seed=1)))[0] == pytest.approx(0.0, abs=0.03)
    assert found.floor(subjects(made_up(50, seed=1)))[0] == pytest.approx(0.0, abs=0.03)


def test_slower_kernels_are_learned_from_long_calls() -> None:
    rows = made_up(20)
    found = few(rows, *fleet_times(rows, 0.7))
    asked = made_up(200, seed=1)
    added, remaining = found.kernel(subjects(asked))
    assert np.median(added[large(asked)]) == pytest.approx(np.log(1 / 0.7), abs=0.1)
    assert np.median(remaining[large(asked)]) < 0.6
    assert found.floor(subjects(asked))[0] == pytest.approx(0.0, abs=0.05)


def test_calls_at_their_floor_say_nothing_about_kernels() -> None:
    rows = made_up(200)
    short = rows.select((rows.rows["time_s"] <= 1.001 * FLOOR_S).to_numpy())
    free_s, floor_s = fleet_times(short, 0.2)
    found = few(short, free_s, 0.8 * floor_s)
    added, remaining = found.kernel(subjects(short))
    assert added == pytest.approx(0.0, abs=0.05)
    assert (remaining > 0.95).all()
    assert np.median(found.floor(subjects(short))[0]) == pytest.approx(np.log(1 / 0.8), abs=0.05)


def test_one_outlier_moves_a_device_little() -> None:
    rows = made_up(200)
    rows = rows.select(large(rows))
    rows = rows.select(np.arange(len(rows.rows)) < 20)
    rows.rows.loc[rows.rows.index[0], "time_s"] *= 10
    found = few(rows, *fleet_times(rows))
    assert np.abs(found.kernel(subjects(rows))[0]).max() < 0.35


def test_row_wise_operators_learn_little_from_products() -> None:
    rows = made_up(20)
    found = few(rows, *fleet_times(rows, 0.5))
    other = found.kernel(subjects(rows, "pointwise|float32"))[0]
    assert np.abs(other).max() < 0.25 * np.abs(found.kernel(subjects(rows))[0]).max()


def test_json_keeps_the_rows() -> None:
    rows = made_up(20)
    found = few(rows, *fleet_times(rows, 0.7))
    again = FewRows.from_json(json.loads(json.dumps(found.to_json())))
    assert again.kernel(subjects(rows))[0] == pytest.approx(found.kernel(subjects(rows))[0])
    assert again.floor(subjects(rows))[1] == pytest.approx(found.floor(subjects(rows))[1])
