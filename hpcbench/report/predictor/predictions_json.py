"""Predictions as JSON, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from hpcbench.predict.choice.recommendation import Recommendation
from hpcbench.predict.results.choices import BestState, best_device, best_states, by_case, within
from hpcbench.predict.results.overview import overview, overview_within
from hpcbench.predict.results.table import ENERGY, for_files
from hpcbench.predict.tables.prediction import LEVEL
from hpcbench.report.export.json_text import json_text
from hpcbench.report.predictor.text.summary import Wanted, recommendations

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions


def predictions_json(predictions: Predictions, wanted: Wanted) -> str:
    """Return the predictions, the shares by kind of operator and the recommendations as JSON; null is unknown."""
    found = by_case(predictions.results)
    document = {
        "experiment": predictions.experiment,
        "model": predictions.model or None,
        "data_hash": predictions.data_hash or None,
        "interval_level": LEVEL,
        "item": predictions.item,
        "currency": predictions.currency or None,
        "overview": _overview(predictions, wanted),
        "recommendations": [_of_case(case, rows, predictions, wanted) for case, rows in found.items()],
        "predictions": for_files(predictions.results).astype("object").to_dict("records"),
        "shares": predictions.shares.to_dict("records"),
    }
    return json_text(document)


def _overview(predictions: Predictions, wanted: Wanted) -> dict[str, Any]:
    """Return the number of cases that are predicted on all devices, and in how many of them each device is best."""
    if wanted.within_s is not None:
        limited, count = overview_within(predictions, wanted.within_s)
        return {"cases": count, "devices": [asdict(each) for each in limited]}
    found, count = overview(predictions)
    devices = [
        {
            "device": each.device,
            **{name: asdict(each.standings[name]) for name in wanted.quantities},
            "does_not_fit": each.does_not_fit,
        }
        for each in found
    ]
    return {"cases": count, "devices": devices}


def _of_case(case: str, rows: pd.DataFrame, predictions: Predictions, wanted: Wanted) -> dict[str, Any]:
    quantities = wanted.quantities if wanted.within_s is None else ()
    return {
        "case": case,
        "label": rows["label"].iloc[0],
        "text": list(recommendations(rows, predictions, wanted)),
        **{
            quantity: _best(best_device(rows, quantity, predictions.errors_of(rows, quantity)))
            for quantity in quantities
        },
        "within": _within(rows, predictions, wanted.within_s),
        "best_states": [_state(each) for each in best_states(rows, predictions.states)],
    }


def _state(best: BestState) -> dict[str, Any]:
    return {
        "device": best.device,
        "setting": best.setting,
        "state": best.state,
        "is_conclusive": best.is_certain,
        "energy_ratio": best.energy.value,
        "energy_ratio_pi_low": best.energy.low,
        "energy_ratio_pi_high": best.energy.high,
        "time_ratio": best.time,
    }


def _best(found: Recommendation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "device": found.best.device,
        "state": found.best.state,
        "is_conclusive": found.is_certain,
        "others": [
            {
                "device": each.candidate.device,
                "state": each.candidate.state,
                "ratio": each.ratio.value,
                "ratio_pi_low": each.ratio.low,
                "ratio_pi_high": each.ratio.high,
            }
            for each in found.others
        ],
    }


def _within(rows: pd.DataFrame, predictions: Predictions, limit_s: float | None) -> dict[str, Any] | None:
    if limit_s is None:
        return None
    found = within(rows, limit_s, predictions.states, predictions.errors_of(rows, ENERGY))
    groups = {"yes": found.limited.within, "maybe": found.limited.uncertain, "no": found.limited.above}
    named = {
        name: [{"device": each.device, "state": each.state} for each in members] for name, members in groups.items()
    }
    compared = _state(found.state) if found.state else None
    return {"limit_s": limit_s, **named, ENERGY: _best(found.best), "best_state": compared}
