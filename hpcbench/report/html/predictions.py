"""Predicted next to measured values on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from hpcbench.analysis.predicted.causes import differences
from hpcbench.analysis.predicted.columns import ABOVE, BELOW, DEVICE, QUANTITIES, REASON, TIME, Predicted
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.ratio_text import times
from hpcbench.report.html import page_model
from hpcbench.report.text.numbers import PREDICTION_INTERVAL, between
from hpcbench.report.text.predicted.notes import summaries, written_as
from hpcbench.report.text.predicted.ranking_columns import RATIO
from hpcbench.util.text import plural

MAX_ROWS = 200
RULE = (
    f"The measured value is the median of a case. The {PREDICTION_INTERVAL} is the prediction interval of one case: "
    "if the models are correct, about one value in ten is outside. Rows outside come first."
)
_HEADINGS = (
    *(page_model.Heading(title, numeric=False) for title in ("case", "predicted on", "quantity")),
    *(page_model.Heading(title) for title in ("measured", "predicted", PREDICTION_INTERVAL, RATIO)),
    *(page_model.Heading(title, numeric=False) for title in ("verdict", "note")),
)


def predictions_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per case and quantity, those outside their interval first; None without any."""
    if not results.predictions or DEVICE not in results.cases:
        return None
    rows = [row for quantity in QUANTITIES for row in _rows(results, quantity)]
    rows.sort(key=lambda row: row.cells[-2] not in (ABOVE, BELOW))
    rows += _refused(results)
    models = dict.fromkeys(f"{each.model}." for each in results.predictions)
    about = " ".join(["Predictions were made before the measurements.", *models, *summaries(results), RULE])
    left = len(rows) - MAX_ROWS
    note = f"and {plural(left, 'more row')}, in the table below" if left > 0 else ""
    table = page_model.Ranking(plural(len(rows), "prediction"), _HEADINGS, tuple(rows[:MAX_ROWS]), note)
    return page_model.Aggregates("Predicted and measured values", about, (table,), "Predictions")


def _rows(results: Results, quantity: Predicted) -> Iterator[page_model.TableRow]:
    """Yield the rows of a quantity, in the order of the ranking; power and energy only of cases that measured them."""
    if quantity.ratio not in results.cases:
        return
    written = written_as(quantity)
    known = results.cases[results.cases[quantity.column].notna()]
    for _, case in known.iterrows():
        ratio, verdict = case[quantity.ratio], case[quantity.verdict]
        if pd.isna(ratio) and quantity != TIME:
            continue
        low, high = (case[name] for name in quantity.limits)
        measured = "-" if pd.isna(ratio) else written(case[quantity.measured])
        cells = (
            *(results.full_label(case), str(case[DEVICE]), quantity.title),
            *(measured, written(case[quantity.column]), between(low, high, written), times(ratio)),
            *("" if pd.isna(verdict) else verdict, _note(case) if verdict in (ABOVE, BELOW) else ""),
        )
        yield page_model.TableRow(cells)


def _note(case: pd.Series[Any]) -> str:
    return "; ".join(differences(case.to_dict()))


def _refused(results: Results) -> Iterator[page_model.TableRow]:
    """Yield the rows of cases without a time, with the reason."""
    cases = results.cases
    if REASON not in cases:
        return
    lacking = cases[cases[REASON].notna() & cases[TIME.column].isna()]
    for _, case in lacking.iterrows():
        yield page_model.TableRow(
            (results.full_label(case), "", TIME.title, "", "-", "", "-", "not predicted", case[REASON])
        )
