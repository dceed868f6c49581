from __future__ import annotations

import pytest

from hpcbench.core.check_result import OK, WARNING
from hpcbench.node.checks import timer
from hpcbench.node.host.sysfs import this_system


def test_the_clock_of_this_machine_is_measured() -> None:
    (finding,) = timer.check(this_system())
    assert finding.numbers is not None
    assert 5 < finding.numbers["timer_cost_ns"] < 100_000
    assert finding.numbers["timer_tick_ns"] >= 1


@pytest.mark.parametrize(
    ("source", "cost_ns", "tick_ns", "level"),
    [
        ("tsc", 60.0, 70, OK),
        (None, 60.0, 70, OK),
        ("hpet", 600.0, 700, WARNING),
        ("tsc", 1500.0, 1600, WARNING),
        ("jiffies", 40.0, 4_000_000, WARNING),
    ],
)
def test_a_clock_is_good_if_it_is_quick_and_fine(source: str | None, cost_ns: float, tick_ns: int, level: str) -> None:
    assert timer.evaluate(source, cost_ns, tick_ns).level == level


def test_it_is_said_which_steps_are_too_short_for_a_slow_clock() -> None:
    """A thousandth of 1500 us is 1.5 us."""
    assert "shorter than 1500 us" in timer.evaluate("hpet", 1500.0, 100).means
