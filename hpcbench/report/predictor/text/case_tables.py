"""Tables of a case: the state of least energy of each device, and the kinds of operators with most time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.analysis.stats.ratio_text import times
from hpcbench.predict.results.choices import BestState, best_states
from hpcbench.report.text.numbers import PREDICTION_INTERVAL
from hpcbench.report.text.text_columns import Column

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

_RATIO, _TIME = 1, 2  # values of Column.gives_way
_MOST_KINDS = 3
_LEAST_SHARE = 0.005  # of the time, which is shown as 1 %


def state_columns(rows: pd.DataFrame, predictions: Predictions) -> list[Column]:
    """Return the columns of the table of states of least energy, compared with default states; none without states."""
    found = [each for each in best_states(rows, predictions.states) if each.state]
    if not found:
        return []
    intervals = tuple(f"{each.energy.low:.2f} - {each.energy.high:.2f}" for each in found)
    return [
        Column("device", tuple(each.device for each in found), is_text=True, identifies=True),
        Column("least energy at", tuple(each.state for each in found), is_text=True),
        Column("energy / default", tuple(times(each.energy.value) for each in found), _RATIO),
        Column(PREDICTION_INTERVAL, intervals, _RATIO, is_interval=True),
        Column("time / default", tuple(times(each.time) for each in found), _TIME),
        Column("result", tuple(map(_verdict, found)), is_text=True),
    ]


def _verdict(best: BestState) -> str:
    return "less energy" if best.energy.is_below_one else "inconclusive"


def kind_columns(rows: pd.DataFrame, predictions: Predictions) -> list[Column]:
    """Return the columns of the table of the kinds of operators with most time on each device; none without shares."""
    case = rows["case"].iloc[0]
    own = predictions.shares[predictions.shares["case"] == case]
    answered = rows[(rows["reason"] == "") & (rows["state"] == "")]
    devices = [name for name in answered["device"] if (own["device"] == name).any()]
    if not devices:
        return []
    cells = [_largest(own[own["device"] == name]) for name in devices]
    headers = ("time by kind", *("" for _ in range(_MOST_KINDS - 1)))
    named = Column("device", tuple(devices), is_text=True, identifies=True)
    by_rank = enumerate(zip(headers, zip(*cells, strict=True), strict=True))
    return [named, *(Column(header, values, rank, is_text=True) for rank, (header, values) in by_rank)]


def _largest(shares: pd.DataFrame) -> list[str]:
    kept = shares[shares["share"] >= _LEAST_SHARE].head(_MOST_KINDS)
    found = [
        f"{kind.replace('_', ' ')} {100 * share:.0f} %" for kind, share in zip(kept["kind"], kept["share"], strict=True)
    ]
    return found + [""] * (_MOST_KINDS - len(found))
