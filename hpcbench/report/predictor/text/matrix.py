"""The table of many cases: one row per case, one column per device, and the device that is recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.choice.recommendation import Recommendation
from hpcbench.predict.results.choices import best_device, by_case, within
from hpcbench.predict.results.table import ENERGY, PRICE, TIME
from hpcbench.report.predictor.text.columns import device_in_state
from hpcbench.report.predictor.text.quantities import quantity
from hpcbench.report.predictor.text.summary import Wanted
from hpcbench.report.text.numbers import column_format, duration
from hpcbench.report.text.text_columns import Column

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_BEST = {TIME: "fastest", ENERGY: "least energy", PRICE: "cheapest"}
_NONE = "-"
_INCONCLUSIVE = "inconclusive"


def matrices(predictions: Predictions, wanted: Wanted, states: frozenset[str]) -> Iterator[tuple[str, list[Column]]]:
    """Yield a title and the columns of a table for each wanted quantity that is predicted.

    The columns of devices are in the order of the results. A narrow terminal drops those with the highest values first.
    `states` are the labels of the states that are shown in addition to the default ones.
    """
    results = predictions.results
    shown = results[results["state"].isin({"", *states})]
    names = pd.Series([device_in_state(row) for _, row in shown.iterrows()], index=shown.index, dtype="object")
    labels = [str(rows["label"].iloc[0]) or case for case, rows in by_case(results).items()]
    for name in (TIME, ENERGY) if wanted.within_s is not None else wanted.quantities:
        if shown[name].isna().all():
            continue
        each = quantity(name, predictions)
        values = shown.assign(column=names).pivot_table(
            index="case", columns="column", values=name, sort=False, dropna=False
        )
        values = values.dropna(axis="columns", how="all")
        unit, written = column_format(each, shown[name])
        ranks = values.div(values.min(axis=1), axis=0).mean().rank(method="first")
        devices = [
            Column(str(device), tuple(map(written, values[device])), int(ranks[device])) for device in values.columns
        ]
        best = Column(_header(name, wanted), tuple(_best_of_cases(predictions, wanted, name)), is_text=True)
        yield (
            f"Predicted {each.title} ({unit})" if unit else f"Predicted {each.title}",
            [*_of_labels(labels), *devices, best],
        )


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
            yield _words(within(rows, wanted.within_s, predictions.states, errors).best)
        else:
            yield _words(best_device(rows, quantity_name, errors))


def _words(found: Recommendation | None) -> str:
    if found is None:
        return _NONE
    return found.best.label if found.is_certain else _INCONCLUSIVE
