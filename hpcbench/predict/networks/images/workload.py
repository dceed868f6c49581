"""The operators of image networks in a table of networks, for the batch and the image size of each row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.networks.catalog.catalog import Catalog, Entry
from hpcbench.predict.tables.prediction import Floats

# Kinds with products of matrices, and those of them whose second matrix is a weight.
WITH_WEIGHTS = ("conv1x1", "conv", "grouped", "depthwise", "linear")
PRODUCTS = (*WITH_WEIGHTS, "bmm", "attention")
OTHERS = ("batch_norm", "layer_norm", "softmax", "pool", "reduce", "copy", "pointwise")
KINDS = (*PRODUCTS, *OTHERS)


@dataclass(frozen=True)
class Workload:
    """What one forward pass of each row of a table of networks computes.

    `operators` has the place of the network in that table (`place`), the kind, the calls, and of one call: `macs`,
    `elements` of activations read or written, `weights` in elements, and `groups` products of (`rows` x `depth`) and
    (`depth` x `columns`). The other arrays have one element per network; `reason` says why a network has no operators.
    """

    operators: pd.DataFrame
    parameters: Floats
    reason: NDArray[np.object_]


def workload(networks: pd.DataFrame, catalog: Catalog) -> Workload:
    """Return the operators of all networks that the catalog has, or that resemble one of its networks."""
    entries, scales = _entries(networks, catalog)
    sizes = networks["image_size"].to_numpy()
    batches = networks["batch_size"].to_numpy()
    asked = zip(networks["network"], entries, batches, sizes, strict=True)
    reason = np.array([_reason(*row) for row in asked], dtype=object)
    answered = [place for place, why in enumerate(reason) if not why]
    known = [(place, entry) for place in answered if (entry := entries[place]) is not None]
    counts = [len(entry.places) for _, entry in known]
    places = np.repeat(np.array([place for place, _ in known], dtype="int64"), counts)
    listed = np.concatenate([entry.places for _, entry in known] or [np.zeros(0, dtype="int64")])
    calls = np.concatenate([entry.calls for _, entry in known] or [np.zeros(0, dtype="int64")])
    native = np.array([entry.image_size if entry else math.nan for entry in entries])
    pixels = np.where(np.isfinite(sizes), sizes / native, 1.0) ** 2
    items = batches * scales
    operators = _scaled(catalog.operators.iloc[listed], pixels[places], items[places])
    return Workload(
        operators.assign(place=places, calls=calls.astype("float64")),
        np.array([entry.parameters if entry else math.nan for entry in entries]),
        reason,
    )


def _scaled(listed: pd.DataFrame, pixels: Floats, items: Floats) -> pd.DataFrame:
    """Return operators for `items` images of `pixels` times as many pixels as those of the catalog."""
    column = {name: listed[name].to_numpy(dtype="float64") for name in listed.columns if name != "kind"}
    kind = listed["kind"].to_numpy()
    per_step = np.where(column["per_image"] == 1, items, 1.0)
    grown = pixels ** column["macs_power"] * per_step
    in_rows = np.isin(kind, WITH_WEIGHTS)
    macs = column["rows"] * column["columns"] * column["depth"] * column["groups"] * grown
    return pd.DataFrame(
        {
            "kind": kind,
            "macs": macs,
            "elements": (column["read"] + column["written"]) * pixels ** column["elements_power"] * per_step,
            "weights": np.where(in_rows, column["columns"] * column["depth"] * column["groups"], 0.0),
            "rows": column["rows"] * np.where(in_rows, grown, 1.0),
            "columns": column["columns"],
            "depth": column["depth"],
            "groups": column["groups"] * np.where(in_rows, 1.0, grown),
            "per_image": column["per_image"],
        }
    )


def _reason(name: str, entry: Entry | None, batch: float, size: float) -> str:
    if entry is None:
        return f"network {name!r} is not in the catalog of image networks, and its row has no `gmacs` or `image_size`"
    if not 1 <= batch < math.inf:
        return f"network {name!r}: batch size unknown"
    return "" if math.isnan(size) or 0 < size < math.inf else f"network {name!r}: image size zero, negative or infinite"


def _entries(networks: pd.DataFrame, catalog: Catalog) -> tuple[list[Entry | None], Floats]:
    """Return the entry of each row, and how many of its images cost as much as one of the network."""
    takes_images = networks["image_size"].notna()
    comparable = networks["gmacs"].where(takes_images)  # others resemble no image network
    sizes = pd.DataFrame({"name": networks["network"], "mparams": networks["mparams"], "gmacs": comparable})
    numbers = sizes.groupby(list(sizes), sort=False, dropna=False).ngroup()  # NaN equals NaN, unlike in a dict
    distinct = sizes[~numbers.duplicated()]
    asked = zip(distinct["name"], distinct["mparams"], distinct["gmacs"], strict=True)
    found = [_entry(*row, catalog) for row in asked]
    return [found[number][0] for number in numbers], np.array([found[number][1] for number in numbers])


def _entry(name: str, mparams: float, gmacs: float, catalog: Catalog) -> tuple[Entry | None, float]:
    entry = catalog.find(name, mparams)
    return (entry, 1.0) if entry else _similar(name, gmacs, catalog)


def _similar(name: str, gmacs: float, catalog: Catalog) -> tuple[Entry | None, float]:
    """Return the network of the catalog with the longest common beginning of the name, then the nearest MACs."""
    if not gmacs > 0:
        return None, 1.0
    alike = [(_common(name, other), entry) for zoo in catalog.zoos for other, entry in zoo.items()]
    longest = max((length for length, _ in alike), default=0)
    sized = [(catalog.gmacs(entry), entry) for length, entry in alike if length == longest]
    measured = [(macs, entry) for macs, entry in sized if macs > 0]
    if not measured:
        return None, 1.0
    macs, entry = min(measured, key=lambda pair: abs(math.log(pair[0] / gmacs)))
    return entry, gmacs / macs


def _common(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
