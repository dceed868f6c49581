"""The table of many cases: one row per case, one column per device, and the device that is recommended."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.choice.recommendation import Recommendation
from hpcbench.predict.results.choices import best_device, by_case, within
from hpcbench.predict.results.table import ENERGY, PRICE, TIME
from hpcbench.report.predictor.text.columns import device_in_state
from hpcbench.report.predictor.text.quantities import quantity
from hpcbench.report.predictor.text.summary import Wanted
from hpcbench.report.text.numbers import column_format, duration
from hpcbench.report.text.text_columns import NEVER, Column, fitting

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_BEST = {TIME: "fastest", ENERGY: "least energy", PRICE: "cheapest"}
_NONE = "-"
_INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Matrix:
    """A table of many cases, and the devices that it lacks because the terminal is too narrow."""

    title: str
    columns: tuple[Column, ...]
    dropped: tuple[str, ...] = ()


def matrices(
    predictions: Predictions, wanted: Wanted, states: frozenset[str], width: int | None = None
) -> Iterator[Matrix]:
    """Yield a table for each wanted quantity that is predicted; without a recommended device if there is no choice.

    The columns of devices are in the order of the results. All tables drop the same devices if one of them is wider
    than `width` terminal cells, first those that are far from the lowest value of each quantity. `states` are the
    labels of the states that are shown in addition to the default ones.
    """
    results = predictions.results
    shown = results[results["state"].isin({"", *states})]
    names = [device_in_state(row) for _, row in shown.iterrows()]
    labels = [str(rows["label"].iloc[0]) or case for case, rows in by_case(results).items()]
    by_quantity = {
        name: shown.assign(column=names)
        .pivot_table(index="case", columns="column", values=name, sort=False, dropna=False)
        .dropna(axis="columns", how="all")
        for name in ((TIME, ENERGY) if wanted.within_s is not None else wanted.quantities)
        if shown[name].notna().any()
    }
    ranks = _ranks(by_quantity.values())
    tables = []
    for name, values in by_quantity.items():
        each = quantity(name, predictions)
        unit, written = column_format(each, shown[name])
        devices = [Column(str(device), tuple(map(written, values[device])), ranks[device]) for device in values.columns]
        best = Column(_header(name, wanted), tuple(_best_of_cases(predictions, wanted, name)), is_text=True)
        title = f"Predicted {each.title} ({unit})" if unit else f"Predicted {each.title}"
        has_choice = len(devices) > 1 or wanted.within_s is not None
        tables.append(Matrix(title, (*_of_labels(labels), *devices, *([best] if has_choice else []))))
    yield from tables if width is None else _fitting(tables, width)


def _ranks(tables: Collection[pd.DataFrame]) -> dict[str, int]:
    """Return the rank of each device by its lowest mean ratio to the lowest value of each case, from 1 on."""
    ratios = [values.div(values.min(axis=1), axis=0).mean() for values in tables]
    ranks = pd.concat(ratios, axis=1).min(axis=1).rank(method="first") if ratios else pd.Series(dtype="float64")
    return {str(device): int(rank) for device, rank in ranks.items()}


def _fitting(tables: Sequence[Matrix], width: int) -> Iterator[Matrix]:
    """Yield the tables without those devices that do not fit in one of them."""
    kept = [{each.header.replace("\n", " ") for each in fitting(table.columns, width)} for table in tables]
    devices = [[each.header for each in table.columns if each.gives_way != NEVER] for table in tables]
    dropped = {name for names, own in zip(devices, kept, strict=True) for name in names if name not in own}
    for table, names in zip(tables, devices, strict=True):
        remaining = fitting([each for each in table.columns if each.header not in dropped], width)
        yield Matrix(table.title, tuple(remaining), tuple(name for name in names if name in dropped))


def _of_labels(labels: Sequence[str]) -> list[Column]:
    """Return a column for each setting of labels `model=gpt2 batch_size=8`, or one if the settings differ."""
    settings = [[part.partition("=") for part in label.split(" ")] for label in labels]
    names = [tuple(name for name, _, _ in each) for each in settings]
    plain = all(sign for each in settings for _, sign, _ in each)
    if not plain or len(set(names)) != 1:
        return [Column("case", tuple(labels), is_text=True, identifies=True)]
    values = zip(*([value for _, _, value in each] for each in settings), strict=True)
    return [Column(name, each, is_text=True, identifies=True) for name, each in zip(names[0], values, strict=True)]


def _header(quantity_name: str, wanted: Wanted) -> str:
    if wanted.within_s is not None and quantity_name == ENERGY:
        return f"least energy within {duration(wanted.within_s)}"
    return _BEST[quantity_name]


def _best_of_cases(predictions: Predictions, wanted: Wanted, quantity_name: str) -> Iterator[str]:
    """Yield the recommended device of each case, that the result is inconclusive, or `-` without devices to compare."""
    for rows in by_case(predictions.results).values():
        errors = predictions.errors_of(rows, quantity_name)
        if wanted.within_s is not None and quantity_name == ENERGY:
            found = within(rows, wanted.within_s, predictions.states, errors)
            yield _words(None if found.is_only_known else found.best)
        else:
            yield _words(best_device(rows, quantity_name, errors))


def _words(found: Recommendation | None) -> str:
    if found is None:
        return _NONE
    return found.best.label if found.is_certain else _INCONCLUSIVE
