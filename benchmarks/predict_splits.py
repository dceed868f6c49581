"""Divide a data set into rows to train on and rows to predict, by device, network family and shape: never by row."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.sets.data_set import DataSet

FOLDS = 5
FEW = 20  # measured operators of an otherwise unseen device
MOST_TESTED = 2000  # operators of a device and file
_SHAPE = ("kind", "batch", "m", "n", "k", "rows", "columns", "heads")

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """One division of a data set; `device` is the one that it leaves out, empty if it divides the rows of all."""

    name: str
    train: DataSet
    test: DataSet
    device: str = ""


def leave_one_device_out(data: DataSet) -> Iterator[Split]:
    """Yield a split for each device: all of its rows are predicted, and none is trained on."""
    for device in devices_of(data):
        operators, networks = _of(data.operators, device), _of(data.networks, device)
        yield replace(_split(data, f"without {device}", operators, networks), device=device)


def with_few_operators(data: DataSet, seeds: int, few: int = FEW) -> Iterator[Split]:
    """Yield splits for each device with more than `few` operators: only `few` random ones are trained on."""
    for device in sorted(set(data.operators["device"])):
        places = np.flatnonzero(_of(data.operators, device))
        if len(places) <= few:
            continue  # nothing would be left to predict
        for seed in range(seeds):
            operators = _of(data.operators, device)
            operators[np.random.default_rng(seed).choice(places, few, replace=False)] = False
            split = _split(data, f"{few} operators of {device}, seed {seed}", operators, _of(data.networks, device))
            no_networks = np.zeros(len(split.test.networks), dtype=bool)
            tested = split.test.where(np.ones(len(split.test.operators), dtype=bool), no_networks)
            yield replace(split, test=tested, device=device)


def with_few_devices(data: DataSet, seeds: int) -> Iterator[tuple[int, Split]]:
    """Yield splits for each file of operators and device in it, trained on 1 device, 2 devices, and so on.

    The training rows are those of other devices in the same file. Each seed adds these devices in a different random
    order.
    """
    no_networks = np.zeros(len(data.networks), dtype=bool)
    for file, rows in data.operators.groupby("file"):
        devices = sorted(set(rows["device"]))
        of_file = (data.operators["file"] == file).to_numpy()
        for device in devices:
            others = [name for name in devices if name != device]
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(others)
                for count in range(1, len(others) + 1):
                    trained = of_file & data.operators["device"].isin(order[:count]).to_numpy()
                    tested = of_file & _of(data.operators, device)
                    tested &= _sampled(data.operators, tested)
                    train, test = data.where(trained, no_networks), data.where(tested, no_networks)
                    yield count, Split(f"{device}, {count} others, seed {seed}", train, test, device)


def leave_groups_out(data: DataSet, folds: int = FOLDS) -> Iterator[Split]:
    """Yield `folds` splits by shapes of operators, and by families of networks, or networks if they have no family."""
    shapes = _shape_group(data.operators) % folds
    families = data.networks["family"].where(data.networks["family"] != "", data.networks["network"])
    numbers = families.groupby(data.networks["file"]).transform(lambda names: pd.factorize(names)[0])
    for fold in range(folds):
        chosen = (numbers % folds).to_numpy() == fold
        yield _split(data, f"fold {fold + 1} of {folds}", shapes == fold, chosen)


def of_devices(splits: Iterable[Split], names: Collection[str] | None) -> Iterator[Split]:
    """Yield the splits that leave out one of these devices, and those that leave out none; all without names."""
    return (each for each in splits if names is None or not each.device or each.device in names)


def devices_of(data: DataSet) -> list[str]:
    """Return the names of the devices with rows."""
    return sorted(set(data.operators["device"]) | set(data.networks["device"]))


def _split(data: DataSet, name: str, operators: Mask, networks: Mask) -> Split:
    tested = operators & _sampled(data.operators, operators)
    return Split(name, data.where(~operators, ~networks), data.where(tested, networks))


def _of(table: pd.DataFrame, device: str) -> Mask:
    return (table["device"] == device).to_numpy().copy()


def _sampled(operators: pd.DataFrame, chosen: Mask) -> Mask:
    """Return at most MOST_TESTED evenly spaced rows of each file and device, among the chosen ones."""
    rows = operators[chosen].groupby(["file", "device"])
    place, size = rows.cumcount(), rows["row"].transform("size")
    kept = place % np.maximum(-(-size // MOST_TESTED), 1) == 0
    return kept.reindex(operators.index, fill_value=False).to_numpy(dtype=bool)


def _shape_group(operators: pd.DataFrame) -> NDArray[np.int64]:
    """Return a number for each row that operators with the same sizes within a factor of two share."""
    sizes = operators[list(_SHAPE[1:])].fillna(1.0).clip(lower=1.0)
    cells = np.floor(np.log2(sizes)).assign(kind=operators["kind"])
    return np.asarray(pd.util.hash_pandas_object(cells, index=False).to_numpy() % np.uint64(10007), dtype="int64")
