"""The step by state of the device, and which state is the best; all numbers are made up."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.profiles.clock_states import ClockStates, Value, clock_states
from tests.operator_tables import operator_rows

GEMM = {"kind": "gemm", "stream_s": 0.001}


def step(mhz: int | None, time_s: float, joules: float | None = None, **changes: Any) -> dict[str, Any]:
    """The row of the whole step at a clock, with a CI of 1 % and an uncertainty of 2 %."""
    measured = {"hot_s": time_s, "hot_low_s": 0.99 * time_s, "hot_high_s": 1.01 * time_s}
    energy = {} if joules is None else {"energy_per_call_j": joules, "energy_uncertainty_j": 0.02 * joules}
    state = {"requested_clock_mhz": mhz, "clock_method": "frequency limits" if mhz else None}
    return {"kind": "network", "operator": "network", **state, **measured, **energy, **changes}


def states(*rows: dict[str, Any]) -> ClockStates:
    (found,) = clock_states(operator_rows(*rows))
    return found


def names(found: Any) -> list[str]:
    return [each.state for each in found]


def test_the_default_state_is_first_and_the_others_follow_by_clock() -> None:
    found = states(step(None, 0.010), step(2040, 0.015), step(1080, 0.030), GEMM)
    assert names(found.states) == ["default", "1080 MHz", "2040 MHz"]
    assert [each.requested.clock_method for each in found.states] == [None, "frequency limits", "frequency limits"]
    assert found.states[1].step_s == pytest.approx((0.030, 0.0297, 0.0303))


def test_the_best_states_are_those_whose_intervals_are_apart() -> None:
    found = states(step(None, 0.010, 1.0), step(1080, 0.030, 1.2), step(2040, 0.015, 0.9))
    assert (names(found.fastest), names(found.most_efficient)) == (["default"], ["2040 MHz"])


def test_overlapping_intervals_cannot_be_told_apart() -> None:
    found = states(step(None, 0.0101, 0.93), step(1080, 0.030, 1.2), step(2040, 0.010, 0.9))
    assert (names(found.fastest), names(found.most_efficient)) == (["2040 MHz", "default"], ["2040 MHz", "default"])


def test_without_an_interval_a_state_cannot_be_told_from_others() -> None:
    found = states(step(None, 0.010, hot_low_s=None, hot_high_s=None), step(1080, 0.030))
    assert names(found.fastest) == ["default", "1080 MHz"]


def test_the_interval_is_the_widest_of_the_runs() -> None:
    runs = [step(1080, time, run=run) for run, time in ((1, 0.030), (2, 0.031), (3, 0.033))]
    found = states(*(step(None, 0.010, run=run) for run in (1, 2, 3)), *runs)
    assert found.states[1].step_s == pytest.approx((0.031, 0.0297, 0.03333))
    assert found.states[1].runs == 3


def test_the_time_is_that_of_whole_steps_in_turn_if_all_states_have_it() -> None:
    """A training step became three times as slow after the case had measured it, whatever the clock."""
    rows = [step(None, 0.010), step(1080, 0.031), step(2040, 0.029)]
    in_turn = [
        {**row, "stream_s": time_s, "stream_low_s": 0.9 * time_s, "stream_high_s": 1.1 * time_s}
        for row, time_s in zip(rows, (0.030, 0.031, 0.029), strict=True)
    ]
    assert names(states(*rows).fastest) == ["default"]
    assert names(states(*in_turn[:2], rows[2]).fastest) == ["default"]  # not comparable
    found = states(*in_turn)
    assert names(found.fastest) == ["2040 MHz", "default", "1080 MHz"]
    assert found.states[0].step_s == pytest.approx((0.030, 0.027, 0.033))


def test_power_limits_are_states_and_clocks_are_those_measured() -> None:
    limited = {"requested_power_limit_w": 250.0, "clock_method": "power limit"}
    clocks = [{"sm_clock_mhz": 1980.0, "clock_moved": False}, {"sm_clock_mhz": 1200.0, "clock_moved": True}]
    found = states(step(None, 0.01, **clocks[0]), step(None, 0.02, **limited, **clocks[1])).states
    assert [(each.state, each.clock_mhz, each.clock_moved) for each in found] == [
        ("default", 1980.0, False),
        ("250 W", 1200.0, True),
    ]


def test_without_energy_there_is_the_reason() -> None:
    found = states(step(None, 0.01, power_reason="no sensor"), step(1080, 0.02), step(2040, 0.03, power_w=9.0))
    assert [each.no_energy for each in found.states] == [
        "no sensor",
        "the table has neither a power nor a reason",
        "the number of steps in the power window is unknown",
    ]
    assert found.most_efficient == []
    assert found.states[0].joules_per_step is None


def test_cases_with_one_state_are_left_out() -> None:
    table = operator_rows(step(None, 0.01), GEMM, step(1080, 0.02, case="c2"))
    assert clock_states(table) == []
    assert clock_states(operator_rows()) == []


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [
        (Value(1, 0.9, 1.1), Value(2, 1.1, 2.9), True),
        (Value(1, 0.9, 1.1), Value(2, 1.2, 2.9), False),
        (Value(1, None, None), Value(2, 1.2, 2.9), True),
    ],
)
def test_intervals_that_touch_overlap(one: Value, other: Value, overlaps: bool) -> None:
    assert one.overlaps(other) is other.overlaps(one) is overlaps


def test_the_types_of_the_table_of_operators_are_accepted() -> None:
    table = operator_rows(step(None, 0.01), step(1080, 0.02))
    assert table["clock_moved"].dtype == pd.BooleanDtype()
    assert len(clock_states(table)) == 1
