"""Where the time and the energy of a step go: its operators, by kind, and their sum compared with the whole step.

The step time is that of the whole network in the same state: on CPUs, of whole steps in turn with those whose operators
were timed, otherwise as the case has measured it. The time of an operator is that in the stream; without it, its time
inside the network, and otherwise its hot time. Operators without any time take none here. The energy of an operator is
its power, measured in a window of hot calls, times this time: hot calls are shorter. The framework overhead is
1 - sum / network (Ben-Nun et al., "A modular benchmarking infrastructure for high-performance and reproducible deep
learning", IPDPS 2019, section IV).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.analysis.profiles.clock_states import device_state
from hpcbench.core.profiling.device_state import OPERATOR, STATE
from hpcbench.core.profiling.operator_row import IDLE, NETWORK, NO_WINDOW

STREAM, IN_NETWORK, HOT, COLD, HOST = "stream", "in network", "hot", "cold", "host"
TIMES = {STREAM: "stream_s", HOT: "hot_s", COLD: "cold_s", IN_NETWORK: "in_network_s", HOST: "host_s"}
_PREFERRED = (STREAM, IN_NETWORK, HOT)
_CASE = ("sweep", "case", *STATE)
_MEDIANS = (*TIMES.values(), "power_w", "power_uncertainty_w", "energy_per_call_j", "energy_uncertainty_j")
_FIRSTS = ("dtype", "calls_per_step", "flops", "bytes_moved", "reason", "power_reason")


class Sum(NamedTuple):
    """The time of all operators of a step by one way of timing them, and its ratio to the whole step."""

    seconds: float
    ratio: float | None  # None if the whole step was not timed
    lacking: int  # distinct operators without this time


@dataclass(frozen=True, eq=False)
class StepProfile:
    """The operators of one step of a case in one device state; medians over its runs.

    `operators` has a row per distinct operator, the longest in a step first: OPERATOR columns, times of one call in s,
    and `call_s`, `timed`, `step_s`, `share`, `joules_per_step`, `joules_uncertainty`, `clock_moved`, `flops_per_s` and
    `intensity_flops_per_byte`. `network` and `idle` are the rows of the whole step and of the device without work, by
    column; empty if there are none.
    """

    sweep: str
    case: str
    device: str
    state: str  # of the device, such as `900 MHz`; empty if it was not changed
    runs: int
    operators: pd.DataFrame
    network: Mapping[str, Any]
    idle: Mapping[str, Any]

    @property
    def network_s(self) -> float | None:
        """Return the step time of the whole network in s; None if it was not measured."""
        return _step_s(self.network)

    @property
    def sum_s(self) -> float:
        """Return the time of all operators of a step in s."""
        return float(self.operators["step_s"].sum())

    @property
    def overhead(self) -> float | None:
        """Return the fraction of the step that is in no operator; negative if the operators take longer than it."""
        return 1 - self.sum_s / self.network_s if self.network_s else None

    @cached_property
    def sums(self) -> dict[str, Sum]:
        """Return the sums of the times of operators, by way of timing; without ways that no operator has."""
        found = {}
        timed = self.operators[self.operators["step_s"].notna()]
        for name, column in TIMES.items():
            times = timed[column] * timed["calls_per_step"]
            if times.notna().any():
                seconds = float(times.sum())
                ratio = seconds / self.network_s if self.network_s else None
                found[name] = Sum(seconds, ratio, int(times.isna().sum()))
        return found

    @cached_property
    def kinds(self) -> pd.DataFrame:
        """Return a row per phase and kind of operator, the longest first.

        Columns: phase, kind, operators (distinct), calls, step_s, share (of the step), joules_per_step, and
        energy_covers, the fraction of its time whose energy was measured.
        """
        timed = self.operators[self.operators["step_s"].notna()]
        measured = timed.assign(measured_s=timed["step_s"].where(timed["joules_per_step"].notna()))
        frame = measured.groupby(["phase", "kind"], as_index=False, sort=False).agg(
            operators=("operator", "size"),
            calls=("calls_per_step", "sum"),
            step_s=("step_s", "sum"),
            share=("share", "sum"),
            joules_per_step=("joules_per_step", lambda joules: joules.sum(min_count=1)),
            measured_s=("measured_s", "sum"),
        )
        frame["energy_covers"] = frame.pop("measured_s") / frame["step_s"]
        return frame.sort_values("step_s", ascending=False, kind="stable", ignore_index=True)

    @cached_property
    def not_alone(self) -> pd.DataFrame:
        """Return a row per reason why operators were not timed alone: reason, operators, calls, step_s and share.

        The time is as in `operators`; it is 0 if they have none.
        """
        named = self.operators[self.operators["reason"].notna()]
        frame = named.groupby("reason", as_index=False).agg(
            operators=("operator", "size"), calls=("calls_per_step", "sum"), step_s=("step_s", "sum")
        )
        whole = self.network_s or self.sum_s
        frame["share"] = frame["step_s"] / whole if whole else float("nan")
        return frame.sort_values(["step_s", "calls"], ascending=False, kind="stable", ignore_index=True)

    @property
    def joules_per_step(self) -> float | None:
        """Return the energy of the operators of a step in J; None if none was measured."""
        return _known(self.operators["joules_per_step"].sum(min_count=1))

    @property
    def energy_covers(self) -> float:
        """Return the fraction of the time of all operators whose energy was measured."""
        measured_s = self.operators["step_s"].where(self.operators["joules_per_step"].notna()).sum()
        return float(measured_s / self.sum_s) if self.sum_s else 0.0

    @property
    def no_energy(self) -> str | None:
        """Return why the energy of no operator was measured; None if one was."""
        if self.joules_per_step is not None:
            return None
        if not len(self.operators):
            return "the profile has no operator"
        reasons = self.operators["power_reason"].dropna()
        of_windows = reasons[reasons != NO_WINDOW]
        if len(reasons):
            return str((of_windows if len(of_windows) else reasons).mode().iloc[0])
        if self.operators["power_w"].notna().any():
            return "the operators whose power was measured have no time"
        return "the table has neither a power nor a reason"


def step_profiles(table: pd.DataFrame) -> list[StepProfile]:
    """Return the profile of each case and device state of a table of operators, in the order of the table."""
    grouped = table.groupby(list(_CASE), dropna=False, sort=False, observed=True)
    return list(_profiles(grouped))


def _profiles(grouped: Any) -> Iterator[StepProfile]:
    for (sweep, case, device, *requested), rows in grouped:
        each = _by_operator(rows)
        whole = {kind: each[each["kind"] == kind] for kind in (NETWORK, IDLE)}
        network, idle = (dict(found.iloc[0]) if len(found) else {} for found in whole.values())
        operators = _with_shares(each[~each["kind"].isin([NETWORK, IDLE])], _step_s(network))
        state = device_state(requested).in_words()
        runs = int(rows[["run", "attempt"]].drop_duplicates().shape[0])
        yield StepProfile(sweep, case, device, state, runs, operators, network, idle)


def _by_operator(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per operator: medians of times and energies over the runs, and the first of other values."""
    spread = {name: (name, "median") for name in _MEDIANS} | {name: (name, "first") for name in _FIRSTS}
    marked = rows.assign(clock_moved=rows["clock_moved"].fillna(value=False).astype(bool))
    spread["clock_moved"] = ("clock_moved", "any")
    frame = marked.groupby(list(OPERATOR), as_index=False, sort=False, dropna=False).agg(**spread)
    numbers = [*_MEDIANS, "calls_per_step", "flops", "bytes_moved"]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def _with_shares(operators: pd.DataFrame, network_s: float | None) -> pd.DataFrame:
    """Return operators with the columns that are derived from their times, the longest in a step first."""
    timed = operators[[TIMES[name] for name in _PREFERRED]]
    call_s = timed.bfill(axis="columns").iloc[:, 0]
    places = timed.notna().to_numpy().argmax(axis=1) if len(timed) else []
    names = [_PREFERRED[place] if pd.notna(time) else None for place, time in zip(places, call_s, strict=True)]
    step_s = call_s * operators["calls_per_step"]
    moved = operators["bytes_moved"].where(operators["bytes_moved"] > 0)
    whole = network_s or float(step_s.sum()) or float("nan")
    return operators.assign(
        call_s=call_s,
        timed=pd.Series(names, index=operators.index, dtype="string"),
        step_s=step_s,
        share=step_s / whole,
        joules_per_step=operators["power_w"] * step_s,
        joules_uncertainty=operators["power_uncertainty_w"] * step_s,
        flops_per_s=(operators["flops"] / call_s).where(call_s > 0),
        intensity_flops_per_byte=operators["flops"] / moved,
    ).sort_values("step_s", ascending=False, kind="stable", ignore_index=True, na_position="last")


def _step_s(network: Mapping[str, Any]) -> float | None:
    """Return the time of steps in turn with those whose operators were timed; without them, that of the case."""
    return _known(network.get("stream_s")) or _known(network.get("hot_s"))


def _known(value: Any) -> float | None:
    """Return a positive number, or None."""
    return float(value) if value is not None and pd.notna(value) and value > 0 else None
