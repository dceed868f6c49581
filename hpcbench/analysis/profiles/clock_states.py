"""The step of a case at several clocks of its device: time, power and energy, and which state is the best.

Times are those of whole steps in turn with steps whose operators were timed, if all states have them. Otherwise, they
are medians of the measurement, which for the default state lies long before the others: in training, steps change.

The interval of a value is the widest of its runs: for times from the lowest to the highest limit of the 95 % CIs of the
times, for power and energy from the expanded uncertainties (about 95 %). A state is the best if its interval overlaps
with no other; this criterion is conservative (Schenker and Gentleman, "On judging the significance of differences by
examining the overlap between confidence intervals", The American Statistician 55(3), 2001).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.core.profiling.device_state import REQUESTED, DeviceState
from hpcbench.core.profiling.operator_row import NETWORK

DEFAULT = "default"  # the state that the device has without changes


class Value(NamedTuple):
    """The median of a quantity over runs, with its interval; a limit is None if it is unknown."""

    median: float
    low: float | None
    high: float | None

    def overlaps(self, other: Value) -> bool:
        """Return whether the intervals have a common value; True if a limit is unknown."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class ClockState:
    """The whole step of a case in one state of its device. A quantity is None if it was not measured."""

    state: str  # `default`, `900 MHz` or `250 W`
    requested: DeviceState
    runs: int
    clock_mhz: float | None  # measured: of the SMs of the GPU, or of the CPUs of the run
    clock_moved: bool  # by more than CLOCK_TOLERANCE in the power window
    step_s: Value | None
    power_w: Value | None
    joules_per_step: Value | None
    no_energy: str | None  # the reason why the energy is unknown


@dataclass(frozen=True)
class ClockStates:
    """A case with the states of its device: the default one first, then from the slowest to the fastest."""

    sweep: str
    case: str
    device: str
    states: Sequence[ClockState]

    @property
    def fastest(self) -> list[ClockState]:
        """Return the state with the shortest step, and those after it that may be as fast; empty if it is unknown."""
        return _least([(each, each.step_s) for each in self.states])

    @property
    def most_efficient(self) -> list[ClockState]:
        """Return the state with the least energy per step, and those after it that may need as little energy."""
        return _least([(each, each.joules_per_step) for each in self.states])


def clock_states(table: pd.DataFrame) -> list[ClockStates]:
    """Return the states of each case of a table of operators that has several, in the order of the table."""
    whole = table[table["kind"] == NETWORK]
    found = []
    cases: Any = whole.groupby(["sweep", "case", "device"], sort=False, observed=True)
    for (sweep, case, device), rows in cases:
        grouped = rows.groupby(list(REQUESTED), dropna=False, sort=False, observed=True)
        time = "stream" if rows["stream_s"].notna().all() else "hot"
        states = [_state(requested, its, time) for requested, its in grouped]
        if len(states) > 1:
            states.sort(key=_speed)
            found.append(ClockStates(sweep, case, device, tuple(states)))
    return found


def device_state(requested: Iterable[Any], clock_method: str | None = None) -> DeviceState:
    """Return the state with these values of the columns REQUESTED, which are None or NaN if they were not changed."""
    values: dict[str, Any] = dict(zip(REQUESTED, map(_number, requested), strict=True))
    return DeviceState(**values, clock_method=clock_method)


def _speed(state: ClockState) -> tuple[float, float]:
    """Return what orders states from the slowest to the fastest, after the default one."""
    return state.requested.requested_clock_mhz or 0.0, state.requested.requested_power_limit_w or 0.0


def _state(requested: Iterable[Any], rows: pd.DataFrame, time: str) -> ClockState:
    clocks = rows["sm_clock_mhz"].fillna(rows["cpu_clock_mhz"])
    energy = _with_uncertainty(rows["energy_per_call_j"], rows["energy_uncertainty_j"])
    state = device_state(requested, next(iter(rows["clock_method"].dropna()), None))
    return ClockState(
        state=state.in_words() or DEFAULT,
        requested=state,
        runs=int(rows[["run", "attempt"]].drop_duplicates().shape[0]),
        clock_mhz=_number(clocks.median()),
        clock_moved=bool(rows["clock_moved"].fillna(value=False).any()),
        step_s=_value(rows[f"{time}_s"], rows[f"{time}_low_s"], rows[f"{time}_high_s"]),
        power_w=_with_uncertainty(rows["power_w"], rows["power_uncertainty_w"]),
        joules_per_step=energy,
        no_energy=None if energy else _why_no_energy(rows),
    )


def _why_no_energy(rows: pd.DataFrame) -> str:
    """Return why the energy of whole steps is unknown."""
    reasons = rows["power_reason"].dropna()
    if len(reasons):
        return str(reasons.iloc[0])
    if rows["power_w"].notna().any():
        return "the number of steps in the power window is unknown"
    return "the table has neither a power nor a reason"


def _value(medians: pd.Series[float], lows: pd.Series[float], highs: pd.Series[float]) -> Value | None:
    known = medians.notna()
    if not known.any():
        return None
    low, high = (_number(limits[known].agg(widest)) for limits, widest in ((lows, "min"), (highs, "max")))
    is_complete = bool(lows[known].notna().all() and highs[known].notna().all())
    return Value(float(medians.median()), low if is_complete else None, high if is_complete else None)


def _with_uncertainty(values: pd.Series[float], uncertainties: pd.Series[float]) -> Value | None:
    return _value(values, values - uncertainties, values + uncertainties)


def _least(measured: Sequence[tuple[ClockState, Value | None]]) -> list[ClockState]:
    """Return the state with the least median and those whose intervals overlap with its; none of fewer than two."""
    known = sorted(((value, state) for state, value in measured if value), key=lambda each: each[0].median)
    if len(known) < 2:
        return []
    best = known[0][0]
    return [state for value, state in known if value.overlaps(best)]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
