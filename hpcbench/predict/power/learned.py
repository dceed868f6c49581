"""The power, or the energy, of operators on one measured device, learned from their shapes.

Kernels of the same utilization differ in power by their tiles and data paths, which shapes decide. Libraries choose
kernels by exact sizes, so that the number of rows of a product is also a category. Such a model is only valid for the
device that it was fitted on. It does not need the time of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.boosting import booster, checked, lightgbm
from hpcbench.predict.operators.roofline import ATTENTIONS
from hpcbench.predict.tables.prediction import Floats

# Sizes of a model: assumptions, which bound the time of a fit.
FEWEST_ROWS = 200  # of one device and family of kinds that a model needs
_MOST_ROWS = 10_000  # of a family, about
_MOST_CALIBRATED = 6000  # whose errors calibrate intervals
_FOLDS = 3
_GROUP = ("kind", "batch", "n", "k", "heads", "head_dim")  # shapes that agree in these are in one fold
SPREAD = 0.12  # expected error of logarithms: an assumption, which calibrations scale
_ROUNDS = 100
_LEAVES = 127  # of a tree
_PARAMETERS = {
    "objective": "l2",
    "learning_rate": 0.12,
    "min_data_in_leaf": 10,
    "feature_fraction": 0.8,
    "max_bin": 63,
    "num_threads": 1,
    "seed": 1,
    "deterministic": True,
    "verbose": -1,
}
ATTENTION, OTHER = "attention", "other"
_EXACT = "exact_m"  # rows of a product, as a category
_LARGEST = 2**31 - 1  # number of a category


@dataclass(frozen=True)
class Learned:
    """LightGBM models of the logarithm of a value, by family of kinds."""

    columns: Mapping[str, tuple[str, ...]]
    models: Mapping[str, str]  # LightGBM's own text
    covered: frozenset[str]  # kinds with their data types that were measured

    def log_value(self, features: pd.DataFrame, rows: pd.DataFrame) -> Floats:
        """Return the logarithm of the value; NaN for kinds that were not measured."""
        found = np.full(len(features), np.nan)
        families = np.where(self.covers(rows), family(rows["kind"]), "")
        for name, text in self.models.items():
            places = np.flatnonzero(families == name)
            if len(places):
                model = booster(text)
                values = _with_exact(features, rows)[list(self.columns[name])].iloc[places].to_numpy(dtype="float64")
                found[places] = np.asarray(model.predict(values, num_threads=1))
        return found

    def covers(self, rows: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which rows have a kind and a data type that were measured."""
        return np.asarray(_covered(rows).isin(self.covered))

    def to_json(self) -> dict[str, Any]:
        """Return the models as JSON types."""
        columns = {name: list(each) for name, each in self.columns.items()}
        return {"columns": columns, "models": dict(self.models), "covered": sorted(self.covered)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Learned:
        """Return the models that `to_json` returned. Raise ValueError if LightGBM cannot read one."""
        columns = {name: tuple(each) for name, each in stored["columns"].items()}
        models = {name: checked(text, len(columns[name])) for name, text in stored["models"].items()}
        return cls(columns, models, frozenset(stored["covered"]))


def fit(
    features: pd.DataFrame,
    rows: pd.DataFrame,
    log_value: Floats,
    *,
    exact: bool = True,
    leaves: int = _LEAVES,
) -> Learned:
    """Return models of the rows of one device; families with too few rows have none, and those with many use a part.

    Without `exact`, the number of rows of a product is no category, as for rows of several devices.
    """
    families = family(rows["kind"])
    columns: dict[str, tuple[str, ...]] = {}
    models: dict[str, str] = {}
    for name in (ATTENTION, OTHER):
        places = np.flatnonzero(families == name)
        if len(places) < FEWEST_ROWS:
            continue
        places = places[:: max(1, len(places) // _MOST_ROWS)]
        values = (_with_exact(features, rows) if exact else features).iloc[places]
        varied = tuple(str(each) for each in values.columns[values.nunique().to_numpy() > 1])
        if not varied:  # one operator, measured many times: shapes show nothing
            continue
        columns[name] = varied
        matrix = values[list(columns[name])].to_numpy(dtype="float64")
        categories = [place for place, each in enumerate(columns[name]) if each == _EXACT]
        data = lightgbm().Dataset(matrix, log_value[places], categorical_feature=categories)
        trained = lightgbm().train({**_PARAMETERS, "num_leaves": leaves}, data, _ROUNDS)
        models[name] = trained.model_to_string()
    kept = rows[np.isin(families, list(models))]
    return Learned(columns, models, frozenset(_covered(kept)))


def left_out_errors(features: pd.DataFrame, rows: pd.DataFrame, log_value: Floats) -> pd.DataFrame:
    """Return the errors of shapes that a fit did not see: one fold of the groups of shapes is left out."""
    keys = pd.util.hash_pandas_object(rows[list(_GROUP)].fillna(-1.0), index=False).to_numpy()
    out = keys % _FOLDS == 0
    if out.all() or not out.any():
        return pd.DataFrame(columns=["error", "spread", "group", "cluster"])
    model = fit(features[~out], rows[~out], log_value[~out])
    kept = np.flatnonzero(out)[:: max(1, int(out.sum()) // _MOST_CALIBRATED)]
    asked = rows.iloc[kept]
    error = log_value[kept] - model.log_value(features.iloc[kept], asked)
    labels = {"spread": SPREAD, "group": asked["kind"].to_numpy(), "cluster": asked["device"].to_numpy()}
    found = pd.DataFrame({"error": error, **labels})
    return found[found["error"].notna()]


def _with_exact(features: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    sizes = rows["m"].to_numpy(dtype="float64")
    return features.assign(**{_EXACT: np.where(sizes <= _LARGEST, sizes, np.nan)})


def family(kinds: pd.Series) -> np.ndarray:
    """Return the family of each kind of operator."""
    return np.where(kinds.isin(ATTENTIONS).to_numpy(), ATTENTION, OTHER)


def _covered(rows: pd.DataFrame) -> pd.Series:
    return rows["kind"].astype("object") + "/" + rows["dtype"].astype("object")
