"""The recommendations that a user requests, and their sentences for a case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.results.choices import best_device, best_states, limited_by_host, within
from hpcbench.predict.results.remarks import REMARKS, SEPARATOR
from hpcbench.predict.results.table import ENERGY, FITS, FITS_NOT, MAY_FIT, PRICE, TIME
from hpcbench.report.predictor.text import sentences
from hpcbench.report.predictor.text.columns import device_in_state

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_NOT_COMPARED = "not compared, because it is not predicted"
MOST_ON_PAGE = 20  # cases with headlines and a table of their own


@dataclass(frozen=True)
class Wanted:
    """The quantities by which devices are recommended, if they are known, and an upper limit of the time in seconds."""

    quantities: tuple[str, ...] = (TIME, ENERGY, PRICE)
    within_s: float | None = None


def recommendations(rows: pd.DataFrame, predictions: Predictions, wanted: Wanted) -> Iterator[str]:
    """Yield the recommendations for the rows of a case, then the state of each device that needs least energy."""
    yield from comparisons(rows, predictions, wanted)
    if has_states(wanted):
        yield from map(sentences.best_state, best_states(rows, predictions.states))


def has_states(wanted: Wanted) -> bool:
    """Return whether the states of least energy are wanted."""
    return ENERGY in wanted.quantities and wanted.within_s is None


def comparisons(rows: pd.DataFrame, predictions: Predictions, wanted: Wanted) -> Iterator[str]:
    """Yield which device of a case is recommended, by each wanted quantity or within the limit of the time."""
    if wanted.within_s is not None:
        yield from sentences.within_limit(
            within(rows, wanted.within_s, predictions.states, predictions.errors_of(rows, ENERGY))
        )
        return
    for quantity in wanted.quantities:
        found = best_device(rows, quantity, predictions.errors_of(rows, quantity))
        if found is not None and (text := sentences.recommendation(found, quantity)):
            tied = limited_by_host(rows) if quantity == TIME and not found.is_certain else ()
            yield sentences.host_limits(tied, len(found.others) + 1) if tied else text


def bases(rows: pd.DataFrame) -> list[str]:
    """Return what the predictions of a case are based on, for its devices."""
    answered = rows[(rows["reason"] == "") & (rows["state"] == "")]
    texts = ((row["device"], [sentences.basis(row), sentences.power_basis(row)]) for _, row in answered.iterrows())
    return sentences.grouped((device, "; ".join(filter(None, each))) for device, each in texts)


def remarks(rows: pd.DataFrame) -> list[str]:
    """Return the remarks on the predictions of a case, and which of its devices comparisons lack."""
    noted = rows[(rows[REMARKS] != "") & (rows["state"] == "")]
    pairs = zip(noted["device"], noted[REMARKS], strict=True)
    found = [(device, text) for device, texts in pairs for text in texts.split(SEPARATOR)]
    lacking = rows[(rows["reason"] != "") & (rows["state"] == "")] if (rows["reason"] == "").any() else rows.head(0)
    return sentences.grouped([*found, *((device, _NOT_COMPARED) for device in lacking["device"])])


def without_room(rows: pd.DataFrame) -> list[str]:
    """Return which devices of a case have less memory than it needs, or may have."""
    usual = rows[rows["state"] == ""]
    found = [(row["device"], sentences.does_not_fit(row)) for _, row in usual[usual[FITS] == FITS_NOT].iterrows()]
    perhaps = [(row["device"], sentences.MAY_NOT_FIT) for _, row in usual[usual[FITS] == MAY_FIT].iterrows()]
    return sentences.grouped([*found, *perhaps])


def refusals(rows: pd.DataFrame) -> list[str]:
    """Return why rows of a case have no time, and which other quantities they lack.

    Prices count only if other rows have one. Emissions do not count, since they depend on the site file alone. What all
    devices lack for the same reason has no names of devices.
    """
    refused, partial = rows[rows["reason"] != ""], rows[rows["missing"] != ""]
    found = [(device_in_state(row), f"not predicted: {row['reason']}") for _, row in refused.iterrows()]
    lacking = partial.groupby("missing", sort=False)["device"].unique()
    everywhere = [text for text, devices in lacking.items() if len(devices) == rows["device"].nunique()]
    found += [(row["device"], row["missing"]) for _, row in partial.iterrows() if row["missing"] not in everywhere]
    if rows[PRICE].notna().any():
        unpriced = rows[rows[PRICE].isna() & (rows["reason"] == "")]
        found += [(row["device"], row["missing_of_site"].partition("; ")[0]) for _, row in unpriced.iterrows()]
    return [*sentences.grouped(found), *map(str, everywhere)]
