"""The step of a case at several clocks as columns and sentences, for terminal and page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.profiles.clock_states import ClockState, ClockStates, Value
from hpcbench.core.profiling.device_state import CLOCK_TOLERANCE
from hpcbench.report.text.numbers import between, column_format, duration, figure
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

DEFAULT_ONLY = "Tables and figures of operators show the default state of the device only."
SENSORS = "To list the sensors of a node, run `hpcbench doctor`."
RULE = (
    "Time: the CI covers the CIs of all runs. Energy: the interval is the expanded uncertainty (about 95 %). A state "
    "is reported as the fastest, or as the one with the least energy, only if its interval does not overlap with any "
    "other."
)
_CLOCK, _POWER, _METHOD = 2, 3, 4  # values of Column.gives_way
TIME = Quantity("time_median_s", "time", "s", better="shorter")
_JOULES = Quantity("joules_per_step", "energy", "J", better="lower")
_WATTS = Quantity("power_w", "power", "W", better="lower")
_NAMED = 3  # states in a sentence
MOVED = "*"
_IN = "in the power window, or in the measurement of the step"
CLOCK_MOVED = f"{MOVED}: the clock moved by more than {100 * CLOCK_TOLERANCE:g} % {_IN}."


def columns_of(case: ClockStates) -> list[Column]:
    """Return the columns of the table of states: clock, time, power and energy per step."""
    times = [each.step_s for each in case.states]
    unit, written = _format(TIME, times)
    powers = [each.power_w for each in case.states]
    columns = [
        Column("state", tuple(each.state for each in case.states), is_text=True),
        Column("method", tuple(each.requested.clock_method or "-" for each in case.states), _METHOD, is_text=True),
        Column("clock (MHz)", tuple(map(_clock, case.states)), _CLOCK),
        Column(f"time per step ({unit})", _medians(times, written)),
        Column("95 % CI", _intervals(times, written), is_interval=True),
        Column("power (W)", _medians(powers, _format(_WATTS, powers)[1]), _POWER),
    ]
    energies = [each.joules_per_step for each in case.states]
    if any(energies):
        _, written = _format(_JOULES, energies)
        columns.append(Column("J per step", _medians(energies, written)))
        columns.append(Column("95 % CI", _intervals(energies, written), is_interval=True))
    return columns


def sentences_of(case: ClockStates) -> Iterator[str]:
    """Yield which state is the fastest, and which needs the least energy, as far as the intervals show it."""
    yield _best("Fastest", case.fastest, lambda state: _in_words(state.step_s, duration, state))
    if any(each.joules_per_step for each in case.states):
        yield _best("Least energy", case.most_efficient, lambda state: _in_words(state.joules_per_step, _joules, state))
    else:
        yield f"Energy by state: not measured ({case.states[0].no_energy}). {SENSORS}"
    if any(each.clock_moved for each in case.states):
        yield CLOCK_MOVED


def _clock(state: ClockState) -> str:
    if state.clock_mhz is None:
        return "-"
    return f"{state.clock_mhz:,.0f}{MOVED if state.clock_moved else ''}"


def _format(quantity: Quantity, values: Sequence[Value | None]) -> tuple[str, Callable[[float], str]]:
    """Return the unit and the formatter of a column of values and their limits."""
    numbers = [number for value in values if value for number in value if number is not None]
    return column_format(quantity, pd.Series(numbers, dtype="float64"))


def _medians(values: Sequence[Value | None], written: Callable[[float], str]) -> tuple[str, ...]:
    return tuple("-" if value is None else written(value.median) for value in values)


def _intervals(values: Sequence[Value | None], written: Callable[[float], str]) -> tuple[str, ...]:
    return tuple("" if value is None else between(value.low, value.high, written) for value in values)


def _best(title: str, states: Sequence[ClockState], value: Callable[[ClockState], str]) -> str:
    if not states:
        return f"{title}: inconclusive (fewer than two states were measured)."
    if len(states) == 1:
        return f"{title}: {states[0].state}, {value(states[0])}."
    named = ", ".join(state.state for state in states[:_NAMED])
    more = f" and {plural(len(states) - _NAMED, 'other')}" if len(states) > _NAMED else ""
    return f"{title}: inconclusive, since the intervals of {named}{more} overlap."


def _joules(value: float) -> str:
    return f"{figure(value)} J"


def _in_words(value: Value | None, written: Callable[[float], str], state: ClockState) -> str:
    if value is None:
        return "not measured"
    interval = between(value.low, value.high, written) or "unknown"
    return f"{written(value.median)} per step (95 % CI {interval}, n = {state.runs})"
