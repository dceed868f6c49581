"""The history of an experiment as JSON, for programs."""

from __future__ import annotations

from typing import Any

from hpcbench.analysis.stats.change_points import LEVEL, SHORTEST
from hpcbench.analysis.stats.equivalence import MARGIN
from hpcbench.analysis.stats.intervals import LEVEL as INTERVAL_LEVEL
from hpcbench.analysis.studies.history import Shift
from hpcbench.report.export.json_text import json_text
from hpcbench.report.terminal.history import History, history_table


def history_json(history: History) -> str:
    """Return rule, changes (latest first) and one object per sweep and case, as JSON; null is unknown."""
    document = {
        "experiment": history.experiment,
        "site": history.site,
        "sweeps": history.sweeps,
        "quantity": history.quantity.column,
        "more_is_better": history.quantity.more_is_better,
        "level": LEVEL,
        "correction": "Bonferroni",
        "margin": MARGIN,
        "shortest": SHORTEST,
        "interval_level": INTERVAL_LEVEL,
        "changes": [_change(history, shift) for shift in history.shifts],
        "points": history_table(history).to_dict("records"),
    }
    return json_text(document)


def _change(history: History, shift: Shift) -> dict[str, Any]:
    return {
        "case": shift.case,
        "label": history.labels[shift.case],
        "before": shift.before.sweep,
        "after": shift.after.sweep,
        "started_at": shift.after.started_at,
        "verdict": shift.word or None,
        "ratio": shift.ratio.estimate,
        "ratio_ci_low": shift.ratio.low,
        "ratio_ci_high": shift.ratio.high,
        "p_value": shift.p_value,
        "also_changed": {name: {"before": old, "after": new} for name, (old, new) in shift.also_changed.items()},
    }
