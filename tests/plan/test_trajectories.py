"""Trajectories are of trainings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hpcbench.errors import UserError
from hpcbench.plan.plan import Plan

TRAJECTORY = "measure: {trajectory: {}}\n"


def test_the_setting_reaches_the_node_and_does_not_change_the_case(plan: Callable[..., Plan]) -> None:
    training = "matrix:\n  task: [inference, training]\n"
    planned = plan(training + TRAJECTORY)
    assert planned.experiment.measure.model_dump()["trajectory"] == {"steps": 100}
    assert [case.id for case in planned.cases] == [case.id for case in plan(training).cases]


def test_without_a_training_it_is_an_error(plan: Callable[..., Plan]) -> None:
    with pytest.raises(UserError, match="no case has task: training or time_to_accuracy") as caught:
        plan("matrix:\n  task: [inference, backward]\n" + TRAJECTORY)
    assert "measure.trajectory" in caught.value.where
    with pytest.raises(UserError, match=r"no case records a trajectory: a trajectory requires strategy: single"):
        plan("matrix:\n  task: [inference, training]\n  strategy: [ddp]\n  tasks_per_node: [2]\n" + TRAJECTORY)
    assert len(plan("matrix:\n  task: [training]\n  strategy: [ddp, single]\n" + TRAJECTORY).cases) == 2
    with pytest.raises(UserError, match="steps"):
        plan("matrix:\n  task: [training]\nmeasure: {trajectory: {steps: 0}}\n")


def test_the_first_cases_need_not_train(plan: Callable[..., Plan]) -> None:
    matrix = "matrix:\n  task: [inference, backward, training]\n"
    assert len(plan(matrix + TRAJECTORY, limit=2).cases) == 2
    with pytest.raises(UserError, match="no case has task"):
        plan("matrix:\n  task: [inference, backward]\n" + TRAJECTORY, limit=3)
