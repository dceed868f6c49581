"""Figures of resources: energy and cost against time, measurements and power over time, and rooflines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from hpcbench.analysis.cases.cost import ENERGY, ENERGY_DELAY
from hpcbench.analysis.cases.labels import label, plain
from hpcbench.analysis.cases.observations import Observations
from hpcbench.analysis.cases.pareto import FRONT
from hpcbench.analysis.cases.quantities import QUANTITIES, Quantity, price_of
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.studies.roofline import Roofline, roofline
from hpcbench.config.metrics import interval_columns
from hpcbench.core.samples import TOO_MANY
from hpcbench.report.charts import cases, over_time, trade_off
from hpcbench.report.charts import roofline as roofs
from hpcbench.report.charts.components import Figure, numbered
from hpcbench.report.charts.curves import figures_of_curves, figures_of_equal_epochs
from hpcbench.report.charts.descriptions import described, lacking
from hpcbench.report.charts.encoding import choose
from hpcbench.report.charts.validation.heat_maps import figures_of_validation
from hpcbench.report.text.numbers import duration, percent
from hpcbench.report.text.training.equal_epochs import curves_of, equal_epochs_of

MAX_WORKS = 4  # workloads with their own figures
MAX_TOLD = 10  # cases of a front in a description
MIN_SAMPLES = 20  # measurements of a figure over time
_SHADED = f" Shaded: windows with interference; a run with over {percent(TOO_MANY)} of them has interference."
_J_PER_ITEM = 3.6  # J per item for 1 kWh per million items
OF_ITEM = Quantity("energy_j_per_item", "energy per item", "J", better="thriftier")
DELAY = Quantity(ENERGY_DELAY, "energy-delay product per item", "J s")


def figures_of_resources(results: Results, observed: Observations) -> list[Figure]:
    """Return the figures of cost, energy, rooflines, logged values, step time, power and errors, if data exist."""
    roofs = _of_roofline(results, roofline(results.cases, observed.peaks)) if observed.peaks else ()
    workloads = enumerate(results.workloads[:MAX_WORKS], 1)
    each = [figure for number, work in workloads for figure in _of_work(work, number)]
    curves = figures_of_curves(observed.curves) if len(observed.curves) else ()
    equal = equal_epochs_of(results)
    trained = figures_of_equal_epochs(curves_of(results, equal)) if len(equal) else ()
    return [*each, *roofs, *trained, *curves, *_over_time(observed), *figures_of_validation(observed.validations)]


def _over_time(observed: Observations) -> Iterator[Figure]:
    """Yield the figures of measurements and power of the best case over time."""
    of = f": {observed.case}" if observed.case else ""
    if len(observed.samples) >= MIN_SAMPLES:
        caption = "The best case: all measurements in the order of time, run by run."
        if over_time.is_thinned(observed.samples):
            caption = "The best case over time. Points: medians of consecutive measurements; lines: their range."
        caption += _SHADED if len(observed.windows) else ""
        drawn = partial(over_time.samples, observed.samples, observed.windows, title=observed.title)
        text = f"{len(observed.samples):,} measurements: {_spread(observed.samples['time_s'], duration)}."
        yield Figure("measurements-over-time", f"Measurements over time{of}", caption, text, drawn)
    if not observed.power.empty:
        caption = "The best case: power of each component with a sensor, from the first measurement to the last."
        parts = observed.power.groupby("part", sort=False)["watts"]
        text = " ".join(f"{part}: {_spread(watts, '{:,.4g} W'.format)}." for part, watts in parts)
        yield Figure("power-over-time", f"Power{of}", caption, text, partial(over_time.power, observed.power))


def _spread(values: pd.Series[float], written: Callable[[float], str]) -> str:
    return f"median {written(values.median())}, from {written(values.min())} to {written(values.max())}"


def _of_work(work: Workload, number: int) -> Iterator[Figure]:
    for quantity in (QUANTITIES[ENERGY], price_of(work.cases)):
        if work.cases["pareto"].notna().sum() > 1 and work.cases[quantity.column].notna().sum() > 1:
            yield _of_trade(work, quantity, number)
    for quantity in (OF_ITEM, DELAY):
        known = _with_joules(work)
        if known.cases[quantity.column].notna().sum() > 1:
            yield from _of_energy(known, quantity, number)


def _with_joules(work: Workload) -> Workload:
    """Return the workload with added columns of the energy per item in J."""
    kwh = (ENERGY, *interval_columns(ENERGY))
    joules = (OF_ITEM.column, *OF_ITEM.limits)
    columns = {name: work.cases[old] * _J_PER_ITEM for name, old in zip(joules, kwh, strict=True)}
    return replace(work, cases=work.cases.assign(**columns))


def _of_energy(work: Workload, quantity: Quantity, number: int) -> Iterator[Figure]:
    encoding = choose(work, quantity)
    if encoding:
        title = f"{quantity.title.capitalize()}{_of(work)}"
        scopes = ", ".join(work.cases["energy_scope"].dropna().unique())
        caption = f"{work.title}. Energy of {scopes}: medians over the runs with 95 % CI."
        name = numbered(f"{quantity.column} {work.short_title}", number)
        yield Figure(name, title, caption, described(work, quantity), partial(cases.draw, work, encoding))


def _of_trade(work: Workload, quantity: Quantity, number: int) -> Figure:
    title = f"Time against {quantity.title.removesuffix(' per million items')}{_of(work)}"
    front = work.cases[work.cases["pareto"] == FRONT]
    what = " and ".join(dict.fromkeys(work.cases["pareto_of"].dropna()))
    count = int(work.cases["pareto"].notna().sum())
    caption = f"{work.title}. {len(front)} of {count} cases are on the Pareto front of {what}: no other case "
    caption += "is better in one of these without being worse in another." + lacking(work, quantity)
    text = f"On the front: {'; '.join(label(case, work.shown) for _, case in front.head(MAX_TOLD).iterrows())}."
    name = numbered(f"time-{quantity.title} {work.short_title}", number)
    return Figure(name, title, caption, text, partial(trade_off.draw, work, quantity))


def _of_roofline(results: Results, found: Roofline) -> Iterator[Figure]:
    known = found.points[found.points["attainable_flops_per_s"].notna()]
    if known.empty:
        return
    cases = results.cases.loc[found.points.index]
    telling = ("framework", "model", *results.shown)
    by = next((name for name in telling if cases[name].astype(str).nunique() > 1), "model")
    best = known.sort_values("share_of_attainable").iloc[-1]
    bound = known["bound"].value_counts()
    bounds = ", ".join(f"{count} {name}-bound" for name, count in bound.items())
    dtypes = ", ".join(found.ceilings["dtype"].unique())
    caption = f"Rooflines: peak performance in {dtypes} on the same number of cores, measured by hpcbench doctor. "
    caption += f"{bounds}; the closest case reaches {100 * best['share_of_attainable']:.0f} % of the attainable "
    caption += "performance. Intensity counts each layer's input, weights and output once "
    caption += "(docs/concepts/scaling-and-roofline.md)."
    remarks = found.points["remark"].dropna().unique()
    caption += f" Note: {'; '.join(remarks[:2])}." if len(remarks) else ""
    drawn = partial(roofs.draw, found, cases, list(results.shown), by)
    text = f"{bounds}. The closest to its roofline: {results.label(cases.loc[[best.name]].iloc[0])}."
    yield Figure("roofline", f"Roofline by {plain(by)}", caption, text, drawn)


def _of(work: Workload) -> str:
    return f": {work.short_title}" if work.short_title else ""
