"""The history of an experiment as JSON, for programs."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from hpcbench.analysis.changepoints import LEVEL, SHORTEST
from hpcbench.analysis.history import Shift
from hpcbench.analysis.statistics import LEVEL as INTERVAL_LEVEL
from hpcbench.analysis.verdicts import MARGIN
from hpcbench.report.history import History, history_table


def history_json(history: History) -> str:
    """The rule, one object for each change, the latest first, one for each sweep and case; null: not known."""
    document = {
        "experiment": history.experiment,
        "site": history.site,
        "sweeps": history.sweeps,
        "quantity": history.quantity.column,
        "better": history.quantity.better,
        "level": LEVEL,
        "correction": "Bonferroni",
        "margin": MARGIN,
        "shortest": SHORTEST,
        "interval_level": INTERVAL_LEVEL,
        "changes": [_change(history, shift) for shift in history.shifts],
        "points": [_nulled(row) for row in history_table(history).to_dict("records")],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _change(history: History, shift: Shift) -> dict[str, Any]:
    numbers = {
        "ratio": shift.ratio.estimate,
        "ratio_ci_low": shift.ratio.low,
        "ratio_ci_high": shift.ratio.high,
        "p_value": shift.p_value,
    }
    return {
        "case": shift.case,
        "label": history.labels[shift.case],
        "before": shift.before.sweep,
        "after": shift.after.sweep,
        "started_at": shift.after.started_at,
        "verdict": shift.word or None,
        **_nulled(numbers),
        "beside": {name: {"before": old, "after": new} for name, (old, new) in shift.beside.items()},
    }


def _nulled(row: dict[Any, Any]) -> dict[Any, Any]:
    return {name: None if pd.isna(value) or value in (math.inf, -math.inf) else value for name, value in row.items()}
