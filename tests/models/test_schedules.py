"""Learning rates over the steps of an optimizer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hpcbench.models.schedules import in_short, schedule_of, simplest


def rates(given: Any, *steps: int) -> list[float]:
    return [float(schedule_of(given).rate(step, np)) for step in steps]


def test_a_number_is_a_constant_rate() -> None:
    assert rates(0.3, 0, 1000) == [0.3, 0.3]
    assert schedule_of(0.3).is_constant
    assert simplest({"peak": 0.3}) == 0.3
    warm = {"peak": 0.3, "warmup_steps": 1}
    assert simplest(warm) == warm


def test_a_warm_up_rises_linearly_to_the_peak() -> None:
    assert rates({"peak": 0.4, "warmup_steps": 4}, 0, 1, 2, 3, 4, 99) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_milestones_set_the_rate_from_their_step_on() -> None:
    given = {"schedule": "steps", "peak": 1.0, "milestones": [[3, 0.1], [5, 0.01]], "warmup_steps": 2}
    assert rates(given, 0, 1, 2, 3, 4, 5, 100) == pytest.approx([0.5, 1.0, 1.0, 0.1, 0.1, 0.01, 0.01])


def test_epochs_become_steps() -> None:
    """Deep500's recipe `[[0, 0.1], [81, 0.01], [122, 0.001]]`."""
    given = {"schedule": "steps", "unit": "epochs", "peak": 0.1, "milestones": [[81, 0.01], [122, 0.001]]}
    schedule = schedule_of(given).in_steps(10)
    assert [float(schedule.rate(step, np)) for step in (0, 809, 810, 1219, 1220)] == [0.1, 0.1, 0.01, 0.01, 0.001]
    assert schedule.in_steps(10) == schedule
    cosine = {"schedule": "cosine", "unit": "epochs", "peak": 1.0, "total_steps": 5, "warmup_steps": 2}
    assert schedule_of(cosine).in_steps(10) == schedule_of(
        {"schedule": "cosine", "peak": 1.0, "total_steps": 50, "warmup_steps": 20}
    )


def test_the_unit_is_part_of_a_schedule_over_epochs_alone() -> None:
    given = {"schedule": "steps", "peak": 1.0, "milestones": [[3, 0.1]]}
    assert simplest({**given, "unit": "steps"}) == simplest(given)
    assert in_short({**given, "unit": "epochs"}) == 'steps(peak=1.0,milestones=[[3,0.1]],unit="epochs")'


def test_a_cosine_goes_from_the_peak_to_the_final_rate_and_stays_there() -> None:
    given = {"schedule": "cosine", "peak": 1.0, "final": 0.2, "total_steps": 12, "warmup_steps": 2}
    expected = [0.5, 1.0, 1.0, 0.2 + 0.4 * (1 + math.cos(math.pi * 0.25 * 2)), 0.2, 0.2]
    assert rates(given, 0, 1, 2, 7, 12, 50) == pytest.approx(expected)
