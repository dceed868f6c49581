"""The activity of image networks that the catalog knows, as `activity` has it for lists of operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.catalog.catalog import Catalog
from hpcbench.predict.networks.images.rooflines import rates
from hpcbench.predict.networks.images.training import calls_of_step, optimizer_bytes
from hpcbench.predict.networks.images.workload import PRODUCTS, WITH_WEIGHTS, workload
from hpcbench.predict.power.activity import COLUMNS
from hpcbench.predict.tables.prediction import Floats

_ON_VECTOR_UNITS = ("grouped", "depthwise")  # kinds of products whose groups are too narrow for matrix units


def of_images(networks: pd.DataFrame, catalog: Catalog, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return the activity of a step of each row of a table of networks; NaN if its network or device is unknown."""
    found = pd.DataFrame(np.nan, index=networks.index, columns=list(COLUMNS))
    described = networks[networks["device"].isin(set(devices)).to_numpy()]
    if described.empty:
        return found
    work = workload(described, catalog)
    answered = work.reason == ""
    rate = rates(described, devices)
    sums = _sums(work.operators, calls_of_step(work.operators, described), rate, len(described))
    moved = np.nan_to_num(optimizer_bytes(work, described)) / rate["bandwidth"].to_numpy()
    for name in ("row_wise_s", "memory_s"):
        sums[:, COLUMNS.index(name)] += moved
    found.loc[described.index[answered], list(COLUMNS)] = sums[answered]
    return found


def _sums(operators: pd.DataFrame, calls: Floats, rate: pd.DataFrame, count: int) -> Floats:
    kind, place = operators["kind"].to_numpy(), operators["place"].to_numpy()
    of = {name: rate[name].to_numpy()[place] for name in ("matrix", "vector", "bandwidth", "bytes", "has_matrix")}
    is_product = np.isin(kind, PRODUCTS)
    on_matrix = is_product & of["has_matrix"].astype(bool) & ~np.isin(kind, _ON_VECTOR_UNITS)
    flops = 2.0 * operators["macs"].to_numpy()
    compute = flops / np.where(on_matrix, of["matrix"], of["vector"])
    elements = operators["elements"].to_numpy() + np.where(np.isin(kind, WITH_WEIGHTS), operators["weights"], 0.0)
    memory = elements * of["bytes"] / of["bandwidth"]
    expected = np.maximum(compute, memory)
    columns = {
        "matrix_s": np.where(on_matrix, compute, 0.0),
        "vector_s": np.where(is_product & ~on_matrix, compute, 0.0),
        "attention_s": np.zeros(len(kind)),
        "product_s": np.where(on_matrix, expected, 0.0),
        "vector_product_s": np.where(is_product & ~on_matrix, expected, 0.0),
        "row_wise_s": np.where(is_product, 0.0, memory),
        "memory_s": memory,
        "kernels": np.ones(len(kind)),
    }
    sums = [np.bincount(place, columns[name] * calls, minlength=count) for name in COLUMNS]
    return np.column_stack(sums).astype(np.float64)
