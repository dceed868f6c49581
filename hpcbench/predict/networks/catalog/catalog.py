"""The catalog of image networks: what one image costs, operator by operator, for the networks of timm and torchvision.

`tools/zoo/write_catalog.py` writes it from forward passes on meta tensors. It has shapes, no measurements.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("image_networks.json.gz")
_SAME_PARAMETERS = 0.03  # difference of the logarithms of two numbers of parameters, at most
_MILLION, _GIGA = 1e6, 1e9
ZOOS = ("timm", "torchvision")


@dataclass(frozen=True)
class Entry:
    """A network: rows of the table of operators with their calls, and the image size that these have."""

    name: str
    image_size: float
    parameters: float
    places: NDArray[np.int64]
    calls: NDArray[np.int64]


@dataclass(frozen=True)
class Catalog:
    """Networks by zoo and name.

    `operators` has one row per distinct operator. Those with `per_image` count for one image, others for one step.
    `macs_power` and `elements_power` are the powers of the number of pixels by which MACs and elements grow.
    `old_names` has today's name for each name of an earlier release.
    """

    operators: pd.DataFrame
    zoos: tuple[Mapping[str, Entry], ...]  # in the order of ZOOS
    old_names: Mapping[str, str]

    def find(self, name: str, mparams: float = math.nan) -> Entry | None:
        """Return the network of a name, or None.

        A name such as `timm/resnet50` is that of one zoo. Of several with this name, in different zoos or under an old
        name, take the one with `mparams` million parameters. Without `mparams`, torchvision comes first. An old name
        can have a prefix or a suffix for its weights, which counts only if the parameters agree.
        """
        zoo, slash, short = name.partition("/")
        if slash:
            return self._of_zoo(zoo, short)
        known = math.isfinite(mparams) and mparams > 0
        zoos = self.zoos if known else self.zoos[::-1]
        exact, derived = (name, self.old_names.get(name, name)), (name.split("_", 1)[-1], name.rsplit("_", 1)[0])
        found = _all(zoos, exact)
        if not known:
            return found[0] if found else None
        same = [entry for entry in _all(zoos, (*exact, *derived)) if _distance(entry, mparams) <= _SAME_PARAMETERS]
        return next(iter(same), min(found, key=lambda entry: _distance(entry, mparams), default=None))

    def _of_zoo(self, zoo: str, name: str) -> Entry | None:
        """Return the network of a zoo. Names of timm can end with those of their weights: `resnet50.a1_in1k`."""
        networks = dict(zip(ZOOS, self.zoos, strict=True)).get(zoo, {})
        short = name.partition(".")[0]
        return networks.get(short) or networks.get(self.old_names.get(short, ""))

    def gmacs(self, entry: Entry) -> float:
        """Return the MACs of a network for one image of its own size, in 10^9."""
        rows = self.operators.iloc[entry.places]
        macs = rows["rows"] * rows["columns"] * rows["depth"] * rows["groups"] * entry.calls
        return float(macs.to_numpy(dtype="float64").sum()) / _GIGA


def _all(zoos: tuple[Mapping[str, Entry], ...], names: tuple[str, ...]) -> list[Entry]:
    return [zoo[name] for name in dict.fromkeys(names) for zoo in zoos if name in zoo]


def _distance(entry: Entry, mparams: float) -> float:
    """Return the absolute difference of the logarithms of the numbers of parameters."""
    return abs(math.log(entry.parameters / _MILLION / mparams))


@cache
def shipped_catalog() -> Catalog:
    """Return the catalog that hpcbench ships."""
    return catalog_of(json.loads(gzip.decompress(_FILE.read_bytes())))


def catalog_of(content: Mapping[str, Any]) -> Catalog:
    """Return the catalog with the content of its file."""
    operators = pd.DataFrame(content["operators"], columns=content["columns"])
    grows = operators["per_image"].to_numpy(dtype="float64")
    powers = {
        name: operators[name].astype("float64").fillna(pd.Series(grows)) for name in ("macs_power", "elements_power")
    }
    zoos = tuple({name: _entry(name, entry) for name, entry in content["networks"][zoo].items()} for zoo in ZOOS)
    return Catalog(operators.assign(**powers), zoos, content["old_names"])


def _entry(name: str, entry: Mapping[str, Any]) -> Entry:
    pairs = np.array(entry["operators"], dtype="int64").reshape(-1, 2)
    return Entry(name, entry["image_size"], entry["parameters"], pairs[:, 0], pairs[:, 1])
