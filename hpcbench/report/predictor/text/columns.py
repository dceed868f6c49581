"""The columns of a table of predictions: one row per device and state of a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.results.table import (
    EMISSIONS,
    ENERGY,
    FITS,
    FITS_NOT,
    MAY_FIT,
    MEMORY,
    POWER,
    PRICE,
    THROUGHPUT,
    TIME,
)
from hpcbench.report.predictor.text.quantities import known_quantities
from hpcbench.report.text.numbers import PREDICTION_INTERVAL, between, column_format
from hpcbench.report.text.text_columns import NEVER, Column

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

# Columns that a narrow terminal drops, the highest first.
_GIVES_WAY = {TIME: NEVER, ENERGY: 1, POWER: 3, MEMORY: 4, THROUGHPUT: 5, PRICE: 6, EMISSIONS: 7}
_LIMIT = 2
_WITH_INTERVAL = (TIME, POWER, ENERGY, PRICE, EMISSIONS)  # the intervals of others are in --csv


def device_in_state(row: pd.Series[str]) -> str:
    """Return the device of a row, and its state if it is not the default: `a100-sxm-80 at 960 MHz`."""
    return f"{row['device']} at {row['state']}" if row["state"] else str(row["device"])


def columns(rows: pd.DataFrame, predictions: Predictions) -> list[Column]:
    """Return the columns of those rows of a case that have a time; quantities without any value are left out."""
    names = tuple(device_in_state(row) for _, row in rows.iterrows())
    devices = Column("device", names, is_text=True, identifies=True)
    return [devices, *_numbers(rows, predictions), *_limits(rows), *_fits(rows)]


def _numbers(rows: pd.DataFrame, predictions: Predictions) -> Iterator[Column]:
    for each in known_quantities(predictions):
        values = rows[each.column]
        unit, written = column_format(each, values)
        header = f"{each.title} ({unit})" if unit else each.title
        gives_way = _GIVES_WAY[each.column]
        yield Column(header, tuple(written(value) for value in values), gives_way)
        if each.column in _WITH_INTERVAL:
            pairs = zip(*(rows[name] for name in each.limits), strict=True)
            cells = tuple(between(low, high, written) for low, high in pairs)
            yield Column(PREDICTION_INTERVAL, cells, gives_way, is_interval=True)


def _limits(rows: pd.DataFrame) -> Iterator[Column]:
    """Yield what limits the time, unless it is unknown for all rows."""
    if (rows["limit"] != "").any():
        yield Column("limit", tuple(rows["limit"]), _LIMIT, is_text=True)


def _fits(rows: pd.DataFrame) -> Iterator[Column]:
    """Yield whether the cases fit the memory of the devices, if one does not, or may not."""
    if rows[FITS].isin([FITS_NOT, MAY_FIT]).any():
        yield Column("fits", tuple(rows[FITS]), NEVER, is_text=True)
