"""The chart of predictions: devices and their states over time and energy, with intervals and the Pareto front."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from hpcbench.analysis.cases.pareto import front
from hpcbench.predict.results.choices import by_case
from hpcbench.predict.results.table import ENERGY, TIME
from hpcbench.report.charts import theme
from hpcbench.report.charts.components import Figure, colour, measure, numbered, shape, sized, with_limits
from hpcbench.report.charts.theme import PlotSize
from hpcbench.report.predictor.text.columns import device_in_state
from hpcbench.report.predictor.text.quantities import quantity
from hpcbench.report.text.numbers import formatter

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

MOST_FIGURES = 6
_FEWEST_TICKS = 3
_DIGITS = (1, 2, 5)  # of ticks
_DEFAULT, _STATE = 70, 20  # areas of the points of default states and of others, in square pixels
_LEGEND = alt.Legend(title="device", symbolOpacity=1)  # not that of the bars


def figures_of_predictions(predictions: Predictions) -> list[Figure]:
    """Return one figure for each of the first MOST_FIGURES cases with times and energies."""
    known = predictions.results[predictions.results[TIME].notna() & predictions.results[ENERGY].notna()]
    cases = list(by_case(known).values())[:MOST_FIGURES]
    return [_figure(number, rows, predictions) for number, rows in enumerate(cases, 1)]


def _figure(number: int, rows: pd.DataFrame, predictions: Predictions) -> Figure:
    case = rows["label"].iloc[0]
    title = f"Energy over time of {predictions.experiment}{f', {case}' if case else ''}"
    of_bars = "bars: 90 % prediction intervals of default states"
    of_points = "; small points: lower clocks and power limits" if (rows["state"] != "").any() else ""
    caption = f"Predicted time and energy of a step; {of_bars}{of_points}; dashed line: Pareto front."
    on_front = rows[front(rows[[TIME, ENERGY]].to_numpy(dtype="float64"))].sort_values(TIME)
    members = ", ".join(device_in_state(row) for _, row in on_front.iterrows())
    description = f"{caption} On the Pareto front, fastest first: {members}."
    drawn = partial(draw, rows, predictions)
    return Figure(numbered(f"predictions {predictions.experiment}", number), title, caption, description, drawn)


def draw(rows: pd.DataFrame, predictions: Predictions, place: PlotSize) -> Any:
    """Return a chart of the energy over the time of the rows of a case; the lower left is better."""
    time, energy = quantity(TIME, predictions), quantity(ENERGY, predictions)
    across = measure(time.title, time.unit, rows[TIME], log=True)  # a device far from the others would hide them
    up = measure(energy.title, energy.unit, rows[ENERGY], log=True)
    wide = with_limits(rows, time, across).rename(columns={"value": "x", "low": "x_low", "high": "x_high"})
    frame = pd.concat([wide, with_limits(rows, energy, up)], axis=1).assign(
        colour=rows["device"],
        name=[device_in_state(row) for _, row in rows.iterrows()],
        state=rows["state"],
        times=[formatter(time)(value) for value in rows[TIME]],
        energies=[f"{formatter(energy)(value)} J" for value in rows[ENERGY]],
    )
    x_scale = across.scale_of(frame["x"], frame["x_low"], frame["x_high"])
    y_scale = up.scale_of(frame["value"], frame["low"], frame["high"])
    x = alt.X("x:Q", title=across.title, scale=x_scale, axis=_axis(x_scale))
    y = alt.Y("value:Q", title=up.title, scale=y_scale, axis=_axis(y_scale))
    base = alt.Chart(frame).encode(color=colour("device", frame["colour"]).legend(_LEGEND))
    rules = base.transform_filter("datum.state === ''").mark_rule(opacity=0.4, clip=True)
    low = alt.Y("low:Q", title=up.title, scale=y_scale, axis=_axis(y_scale))
    x_low = alt.X("x_low:Q", title=across.title, scale=x_scale, axis=_axis(x_scale))
    upright = rules.encode(x, low, alt.Y2("high:Q"))
    level = rules.encode(x_low, alt.X2("x_high:Q"), y)
    tooltip = [
        alt.Tooltip("name:N", title="device"),
        alt.Tooltip("times:N", title=time.title),
        alt.Tooltip("energies:N", title=energy.title),
    ]
    size = alt.condition("datum.state === ''", alt.value(_DEFAULT), alt.value(_STATE))
    shapes = shape("device", frame["colour"]).legend(_LEGEND)
    points = base.mark_point(opacity=1, filled=True).encode(x, y, shapes, size=size, tooltip=tooltip)
    best = frame[front(frame[["x", "value"]].to_numpy(dtype="float64"))].sort_values("x")
    stairs = alt.Chart(best).mark_line(
        color=theme.QUIET, strokeWidth=1, strokeDash=theme.DASHES[2], interpolate="step-after"
    )
    return sized(stairs.encode(x, y) + upright + level + points, place)


def _axis(scale: alt.Scale) -> alt.Axis:
    """Return the axis of a logarithmic scale, with ticks over its whole domain.

    Vega's ticks are all digits times powers of ten. Of labels that overlap, it leaves out the higher ones, such as 10.
    """
    low, high = scale.domain
    return alt.Axis(values=ticks(low, high), format="~r")


def ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times powers of ten; if these are few, multiples of the largest such step that has enough."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [tick for power in powers for digit in _DIGITS if low <= (tick := float(f"{digit}e{power}")) <= high]
    if len(ticks) >= _FEWEST_TICKS:
        return ticks
    largest = math.floor(math.log10(high - low))
    steps = (Decimal(f"{digit}e{power}") for power in (largest, largest - 1) for digit in reversed(_DIGITS))
    multiples = (_multiples(step, low, high) for step in steps)
    return next(found for found in multiples if len(found) > _FEWEST_TICKS)


def _multiples(step: Decimal, low: float, high: float) -> list[float]:
    first, last = math.ceil(Decimal(low) / step), math.floor(Decimal(high) / step)
    return [float(count * step) for count in range(first, last + 1)]
