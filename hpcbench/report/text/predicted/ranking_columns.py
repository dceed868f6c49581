"""The predicted step times of a ranking, next to the measured ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hpcbench.analysis.cases.quantities import TIME as MEASURED
from hpcbench.analysis.predicted.columns import INSIDE, OTHER_DEVICE, TIME, Predicted
from hpcbench.analysis.stats.ratio_text import times
from hpcbench.report.text.numbers import PREDICTION_INTERVAL, between, column_format
from hpcbench.report.text.text_columns import Column

RATIO = "measured / predicted"


def predicted_columns(cases: pd.DataFrame) -> list[Column]:
    """Return the predicted step time, its interval and the ratio of the measured time to it; none without any.

    Times have the unit of the measured ones. Users ask for predictions, so none of these columns gives way.
    """
    if TIME.column not in cases or not cases[TIME.column].notna().any():
        return []
    unit, written = column_format(MEASURED, cases[TIME.column], cases[MEASURED.column])
    low, high = (cases[name] for name in TIME.limits)
    limits = tuple(between(*each, written) for each in zip(low, high, strict=True))
    return [
        Column(f"predicted ({unit})", tuple(map(written, cases[TIME.column])), may_move=True),
        Column(PREDICTION_INTERVAL, limits, is_interval=True, may_move=True),
        Column(RATIO, tuple(ratio_cell(case, TIME) for case in cases.to_dict("records")), may_move=True),
    ]


def ratio_cell(case: dict[Any, Any], quantity: Predicted) -> str:
    """Return `0.97x`, `1.84x (above PI)` for a measured value outside the interval, or `-` without a value."""
    ratio, verdict = case[quantity.ratio], case[quantity.verdict]
    if pd.isna(ratio):
        return "-"
    if pd.isna(verdict) or verdict == INSIDE:
        return times(ratio)
    return f"{times(ratio)} ({verdict})" if verdict == OTHER_DEVICE else f"{times(ratio)} ({verdict} PI)"
