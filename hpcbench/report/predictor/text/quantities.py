"""The predicted quantities with their titles and units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.predict.results.table import (
    EMISSIONS,
    ENERGY,
    MEMORY,
    POWER,
    PRICE,
    QUANTITIES,
    THROUGHPUT,
    TIME,
    limits_of,
)

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_TITLES = {
    TIME: ("time", "s"),
    POWER: ("power", "W"),
    ENERGY: ("energy", "J"),
    MEMORY: ("memory", "B"),
    THROUGHPUT: ("throughput", "samples/s"),
    PRICE: ("price per million", ""),
    EMISSIONS: ("CO2e per million", "g"),
}


def quantity(column: str, predictions: Predictions) -> Quantity:
    """Return a predicted quantity with the unit that its cases and prices have."""
    title, unit = _TITLES[column]
    if column == THROUGHPUT:
        unit = f"{predictions.item}s/s"
    elif column == PRICE:
        unit = predictions.currency
    if column in (PRICE, EMISSIONS):
        title = f"{title} {predictions.item}s"
    return Quantity(column, title, unit, more_is_better=column == THROUGHPUT, irregular=limits_of(column))


def known_quantities(predictions: Predictions) -> Iterator[Quantity]:
    """Yield the quantities that at least one row has, in their order."""
    for column in QUANTITIES:
        if predictions.results[column].notna().any():
            yield quantity(column, predictions)
