"""Histories of made-up sweeps, as long and as wide as a test asks for; none of their numbers was measured."""

from __future__ import annotations

import datetime
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.analysis.studies.history import FACTS, CaseHistory, Point, case_histories, shifts
from hpcbench.report.terminal.history import History

BEGIN = datetime.datetime(2026, 1, 1, 3, 0, 8, tzinfo=datetime.timezone.utc)


@cache
def made_up(
    sweeps: int = 30,
    cases: int = 2,
    *,
    steps: tuple[tuple[float, float], ...] = ((0.6, 1.12),),
    quantity: Quantity = TIME,
    hours: float = 24.0,
    name: str = "batch_size",
    noise: float = 0.003,
    first: float = 0.01,
) -> History:
    """From a part of the sweeps on, the last cases of all, every other one, are by a factor slower: `steps`.

    The same one for the same words: nobody may change it."""
    found = case_histories(
        _point(sweep, case, value, hours)
        for case in range(cases)
        for sweep, value in enumerate(_series(sweeps, case, cases, steps, noise, first))
    )
    rows = pd.DataFrame([{"case": f"case-{case}", name: 2 ** (case + 2)} for case in range(cases)])
    drivers = {f"nightly-{sweep:04}": ("550.54" if sweep < sweeps // 2 else "555.42",) for sweep in range(sweeps)}
    moved = [shift for each in found for shift in shifts(each, quantity, drivers)]
    moved.sort(key=lambda shift: shift.after.started_at, reverse=True)
    told = [f"nightly-{sweep:04}" for sweep in range(sweeps)]
    return History("nightly", "cluster", told, quantity, found, moved, rows, [name] if cases > 1 else [])


def _series(
    sweeps: int, case: int, cases: int, steps: tuple[tuple[float, float], ...], noise: float, first: float
) -> list[float]:
    generator = np.random.default_rng(case)
    values = first * 3.0**case * generator.lognormal(0, noise, sweeps)
    if (cases - 1 - case) % 2 == 0:
        for part, factor in steps:
            values[int(part * sweeps) :] *= factor
    return [float(value) for value in values]


def _point(sweep: int, case: int, value: float, hours: float) -> Point:
    version = f"2.{sweep // 6}.0"
    facts: dict[str, Any] = {**dict.fromkeys(FACTS, ()), "software": (f"python 3.11.2, torch {version}",)}
    return Point(
        sweep=f"nightly-{sweep:04}",
        started_at=(BEGIN + datetime.timedelta(hours=hours * sweep)).isoformat(),
        case=f"case-{case}",
        status="completed",
        error=None,
        value=value,
        low=value * 0.997,
        high=value * 1.004,
        runs=5,
        interference_runs=0,
        work=(),
        on_gpus=case % 2 == 1,
        facts=facts,
    )


def without_values(history: History) -> History:
    """The same where no run has completed."""
    emptied = [
        CaseHistory(each.case, [point._replace(value=None) for point in each.points], [], [])
        for each in history.histories
    ]
    return replace(history, histories=emptied, shifts=[])
