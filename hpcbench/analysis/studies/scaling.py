"""Scaling with processors: speedup and efficiency over the smallest case, and fitted laws.

Strong scaling holds the items per step constant, weak scaling the items per step and processor. The base of a series is
the fastest of its cases on the fewest processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates, interval_of, shuffled
from hpcbench.analysis.cases.labels import phrase
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.stats.intervals import RESAMPLES, Floats, Interval
from hpcbench.analysis.studies.scaling_laws import AMDAHL, GUSTAFSON, USL, Fit, fit
from hpcbench.core.run_spec import COMMAND

STRONG, WEAK = "strong", "weak"
MAX_ERROR = 0.1  # largest relative error of the rates by a law that fits
LAWS = {STRONG: (AMDAHL, USL), WEAK: (GUSTAFSON, USL)}
# Columns that determine the processors of a case and the distribution of its work; all others distinguish series.
RESOURCES = (
    *("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task"),
    *("instances", "intra_op_threads", "batch_size"),
)


class Series(NamedTuple):
    """Cases that differ only in their processors. Fits are slow: call `scaling` only for series that are shown."""

    work: Workload
    name: str  # unique among the series of the workload; may be empty
    kind: str  # STRONG or WEAK
    items: float  # per step (strong scaling), or per step and processor (weak scaling)
    unit: str  # CPUs or GPUs
    cases: pd.DataFrame  # with the column `processors`


@dataclass(frozen=True)
class Scaling:
    """The scaling of one series.

    `points` has a row per case, sorted by `processors`, with `rate` (items/s), `speedup` and `efficiency`, the limits
    `_low` and `_high` of each, `label`, `nodes`, `ideal`, `is_base` and `pays`. `fits` are the laws that fit the rates
    within MAX_ERROR.
    """

    work: str  # short title of the workload; may be empty
    series: str  # unique among the series of the workload; may be empty
    kind: str  # STRONG or WEAK
    items: float  # per step (strong scaling), or per step and processor (weak scaling)
    unit: str  # CPUs or GPUs
    points: pd.DataFrame
    fits: tuple[Fit, ...]

    @property
    def base(self) -> pd.Series[Any]:
        """Return the point of the base case."""
        return self.points[self.points["is_base"]].iloc[0]

    @property
    def best(self) -> pd.Series[Any]:
        """Return the point with the highest rate; of equal rates, the one with the fewest processors."""
        return self.points.iloc[int(self.points["rate"].to_numpy().argmax())]

    @property
    def held(self) -> str:
        """Return the constant work as text: `128 items per step`."""
        return f"{self.items:,.4g} items per step" + (f" and {self.unit[:-1]}" if self.kind == WEAK else "")

    @property
    def pays_until(self) -> int:
        """Return the largest number of processors with a case significantly faster than the best on fewer."""
        return int(self.points.loc[self.points["pays"], "processors"].max())

    @property
    def always_pays(self) -> bool:
        """Return whether each number of processors is significantly faster than every smaller one."""
        return bool(self.points.groupby("processors")["pays"].any().all())


def series_of(results: Results) -> list[Series]:
    """Return the series of all workloads, in the order of the ranking; each has at least two numbers of processors."""
    return [found for work in results.workloads for found in _of_work(work)]


def _of_work(work: Workload) -> Iterator[Series]:
    cases = work.cases[work.cases["throughput_items_per_s"].notna()]
    cases = cases.assign(processors=processors(cases))
    if cases["processors"].nunique() < 2:
        return
    telling = [name for name in work.shown if name not in RESOURCES]
    for rows in _groups(cases, telling):
        items = rows["items_per_step"].astype(float)
        for kind, constant in ((STRONG, items), (WEAK, items / rows["processors"])):
            for held, alike in rows.groupby(constant, sort=False):
                if alike["processors"].nunique() > 1:
                    name = phrase(alike.iloc[0], telling) if telling else ""
                    unit = "GPUs" if on_gpus(alike).iat[0] else "CPUs"
                    yield Series(work, name, kind, float(str(held)), unit, alike)


def _groups(cases: pd.DataFrame, telling: list[str]) -> list[pd.DataFrame]:
    """Return groups of cases that differ only in RESOURCES; in the batch size only if no other series is possible."""
    by_batch = [rows for _, rows in cases.groupby([*telling, "batch_size"], sort=False, dropna=False)]
    if any(rows["processors"].nunique() > 1 for rows in by_batch):
        return by_batch
    return [rows for _, rows in cases.groupby(telling, sort=False, dropna=False)] if telling else [cases]


def processors(cases: pd.DataFrame) -> pd.Series[float]:
    """Return the processors of each case: the GPUs of its tasks, or one CPU per intra-op thread."""
    tasks = cases["nodes"].astype(float) * cases["tasks_per_node"].astype(float) * cases["instances"].astype(float)
    threads = cases["effective_intra_op_threads"].astype(float).fillna(cases["cpus_per_task"].astype(float))
    of_task = cases["gpus_per_task"].astype(float).clip(lower=1.0)  # a task of a framework uses one GPU
    return tasks * threads.mask(on_gpus(cases), of_task.where(cases["framework"] == COMMAND, 1.0))


def on_gpus(cases: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each case computes on GPUs. A command does if it has requested GPUs."""
    return (cases["device"] == "gpu") | (cases["framework"] == COMMAND) & (cases["gpus_per_task"].fillna(0) > 0)


def scaling(series: Series, replicates: Replicates) -> Scaling:
    """Return rates, speedups, efficiencies and fitted laws of a series."""
    work, cases = series.work, series.cases
    cases = cases.sort_values(["processors", "throughput_items_per_s"], ascending=[True, False], kind="stable")
    rates = cases["throughput_items_per_s"].to_numpy(dtype=np.float64)
    counts = cases["processors"].to_numpy(dtype=np.float64)
    drawn = _drawn(cases, replicates)
    speedups = _over_base(rates, drawn)
    points = pd.DataFrame(
        {
            "processors": counts.astype(np.int64),
            "label": [phrase(case, work.shown) for _, case in cases.iterrows()],
            "nodes": cases["nodes"].to_numpy(),
            **_columns("rate", _intervals(rates, drawn)),
            **_columns("speedup", speedups),
            **_columns("efficiency", [each.scaled(counts[0] / p) for each, p in zip(speedups, counts, strict=True)]),
            "ideal": counts / counts[0],
            "is_base": [place == 0 for place in range(len(cases))],
            "pays": _pays(counts, rates, drawn),
        }
    )
    known = None if np.isnan(drawn).any() else drawn
    fits = [fit(law, counts, rates, known) for law in LAWS[series.kind]]
    found = tuple(each for each in fits if each is not None and each.error <= MAX_ERROR)
    return Scaling(work.short_title, *series[1:-1], points, found)


def _drawn(cases: pd.DataFrame, replicates: Replicates) -> Floats:
    """Return replicates of the rates in items/s, shape (draws, cases); NaN for a case without replicates."""
    times = [replicates.of(key) for key in zip(cases["sweep"], cases["case"], strict=True)]
    drawn = [
        shuffled(each, place) if each is not None and each.min() > 0 else np.full(RESAMPLES, np.nan)
        for place, each in enumerate(times)
    ]
    rates: Floats = cases["items_per_step"].to_numpy(dtype=np.float64) / np.column_stack(drawn)
    return rates


def _intervals(values: Floats, drawn: Floats) -> list[Interval]:
    return [_interval(float(value), drawn[:, place]) for place, value in enumerate(values)]


def _interval(value: float, drawn: Floats) -> Interval:
    return Interval(value, None, None) if np.isnan(drawn).any() else interval_of(value, drawn)


def _over_base(rates: Floats, drawn: Floats) -> list[Interval]:
    """Return the speedups over the first case, which has speedup 1 without an interval."""
    others = _intervals(rates / rates[0], drawn / drawn[:, :1])
    return [Interval(1.0, None, None), *others[1:]]


def _columns(name: str, intervals: list[Interval]) -> dict[str, list[float | None]]:
    return {
        name: [each.estimate for each in intervals],
        f"{name}_low": [each.low for each in intervals],
        f"{name}_high": [each.high for each in intervals],
    }


def _pays(counts: Floats, rates: Floats, drawn: Floats) -> list[bool]:
    """Return whether each case is faster than all with fewer processors; significantly, if intervals are known."""
    pays = [True]
    for place in range(1, len(counts)):
        fewer = np.flatnonzero(counts < counts[place])
        if not fewer.size:
            pays.append(False)
            continue
        best = fewer[np.argmax(rates[fewer])]
        gain = _interval(rates[place] / rates[best], drawn[:, place] / drawn[:, best])
        pays.append(bool((gain.estimate if gain.low is None else gain.low) > 1))
    return pays
