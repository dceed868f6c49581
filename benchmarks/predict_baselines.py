"""Simple predictors to compare with: roofline, log-linear regression, random forest, gradient boosting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hpcbench.predict.devices.device import FLOAT8, FLOAT16, FLOAT32, TF32, Device
from hpcbench.predict.evaluation.evaluate import KEY
from hpcbench.predict.networks.catalog.catalog import shipped_catalog
from hpcbench.predict.sets.data_set import DataSet

BASELINES = ("roofline", "log-linear", "forest on seconds", "boosting on raw")
_MOST_ROWS = 20_000  # of a file to train on
_NUMBERS = (
    *("batch", "m", "n", "k", "kernel", "stride", "rows", "columns", "inputs", "heads", "kv_heads", "head_dim"),
    *("batch_size", "sequence_length", "image_size", "new_tokens", "mparams", "gmacs", "mactivations"),
    *("clock_mhz", "power_limit_w", "flops", "bytes"),
)
_WORDS = ("kind", "function", "phase", "dtype", "layout", "execution", "library", "optimizer", "data")
_RATES = ("flops_per_s", "bytes_per_s", "units", "l2_bytes", "board_power_w", "year")
_PRECISIONS = {
    "float8_block": FLOAT8,
    "float8": FLOAT8,
    "amp": FLOAT16,
    "float16": FLOAT16,
    "bfloat16": FLOAT16,
    "tf32": TF32,
}


def baselines(train: DataSet, test: DataSet, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of KEY, and the prediction of each baseline; `measured` has the rows that are asked for."""
    found = []
    for (file, quantity), rows in measured.groupby(["file", "quantity"], sort=False):
        target = next(each for each in test.files[str(file)].targets if each.column == quantity)
        known, asked = _features(train, str(file)), _features(test, str(file))
        places = asked["row"].isin(rows["row"]).to_numpy()
        values = _values(train, str(file), target.quantity)
        useful = values.notna().to_numpy()
        known, values = known[useful].reset_index(drop=True), values[useful].reset_index(drop=True)
        lines = asked.loc[places, ["file", "row"]].assign(quantity=quantity)
        for name, predicted in _predicted(known, values, asked[places], target.quantity == "time_s"):
            lines[name] = predicted / target.unit
        found.append(lines)
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=[*KEY, *BASELINES])


def _predicted(
    known: pd.DataFrame, values: pd.Series, asked: pd.DataFrame, is_time: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the predictions of each baseline in SI units; none if there is nothing to train on."""
    if is_time:
        yield BASELINES[0], asked["roofline_s"].to_numpy()
    if len(known) < 10:
        return
    chosen = known.sample(min(len(known), _MOST_ROWS), random_state=0)
    targets = values[chosen.index].to_numpy()
    x, of_asked = _matrices(chosen, asked)
    linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7)))
    filled, asked_filled = np.log1p(np.nan_to_num(x)), np.log1p(np.nan_to_num(of_asked))
    yield BASELINES[1], np.exp(np.clip(linear.fit(filled, np.log(targets)).predict(asked_filled), -30, 30))
    forest = RandomForestRegressor(60, min_samples_leaf=2, n_jobs=2, random_state=0)
    yield BASELINES[2], forest.fit(np.nan_to_num(x), targets).predict(np.nan_to_num(of_asked))
    boosting = HistGradientBoostingRegressor(loss="absolute_error", max_iter=200, random_state=0)
    yield BASELINES[3], np.exp(boosting.fit(x, np.log(targets)).predict(of_asked))


def _matrices(known: pd.DataFrame, asked: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    both = pd.concat([known, asked], keys=["known", "asked"]).drop(columns=["file", "row"])
    words = [name for name in _WORDS if name in both]
    numbers = pd.get_dummies(both, columns=words, dtype=float).astype(float)
    numbers = numbers.loc[:, numbers.loc["known"].notna().any()]
    return numbers.loc["known"].to_numpy(), numbers.loc["asked"].to_numpy()


def _features(data: DataSet, file: str) -> pd.DataFrame:
    """Return raw features of the rows of a file: sizes, words, rates of the device, and the roofline in seconds."""
    table = data.operators if (data.operators["file"] == file).any() else data.networks
    rows = table[table["file"] == file].reset_index(drop=True)
    if "gmacs" in rows:
        rows = rows.assign(gmacs=rows["gmacs"].fillna(rows["network"].map(_catalog_gmacs)))
    work = rows if "flops" in rows else rows.assign(**_work(rows, data.lists))
    found = work[["file", "row", *(name for name in (*_NUMBERS, *_WORDS) if name in work)]]
    rates = pd.DataFrame([_rates(data.devices, *pair) for pair in zip(rows["device"], rows["dtype"], strict=True)])
    if rates.empty:
        return found.assign(roofline_s=[])
    bound = np.fmax(work["flops"] / rates["flops_per_s"], work["bytes"] / rates["bytes_per_s"])
    return pd.concat([found, rates], axis=1).assign(roofline_s=bound.where(bound > 0).to_numpy())


@cache
def _catalog_gmacs(name: str) -> float:
    """Return the MACs of a network for one image of its own size, in 10^9; NaN if it is unknown."""
    catalog = shipped_catalog()
    entry = catalog.find(name)
    return math.nan if entry is None else catalog.gmacs(entry)


def _work(networks: pd.DataFrame, lists: pd.DataFrame) -> dict[str, pd.Series]:
    """Return FLOPs and bytes of a step: of the operator list, otherwise of MACs and outputs (training: three times)."""
    totals = lists.assign(flops=lists["flops"] * lists["calls"], bytes=lists["bytes"] * lists["calls"])
    by_list = totals.groupby("list_id")[["flops", "bytes"]].sum().astype("float64")
    passes = np.where(networks["phase"] == "training", 3.0, 1.0) * networks["batch_size"]
    width = np.where(networks["dtype"].isin(["float32", "tf32"]), 4.0, 2.0)
    return {
        "flops": networks["list_id"].map(by_list["flops"]).fillna(2e9 * networks["gmacs"] * passes),
        "bytes": networks["list_id"].map(by_list["bytes"]).fillna(2e6 * width * networks["mactivations"] * passes),
    }


def _values(data: DataSet, file: str, quantity: str) -> pd.Series:
    table = data.operators if (data.operators["file"] == file).any() else data.networks
    return table.loc[table["file"] == file, quantity].reset_index(drop=True)


def _rates(devices: Mapping[str, Device], name: str, dtype: str) -> dict[str, float]:
    device = devices.get(name)
    if device is None:
        return dict.fromkeys(_RATES, math.nan)
    rate = device.flops_per_s(_PRECISIONS.get(dtype, FLOAT32))
    values = (rate, device.memory_bytes_per_s, device.units, device.l2_bytes, device.board_power_w, device.year)
    return dict(zip(_RATES, values, strict=True))
