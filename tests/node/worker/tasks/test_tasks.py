"""The tasks of the package: each that core/frameworks.py declares as equal steps has its step."""

from __future__ import annotations

from hpcbench.core.frameworks import STEP_TASKS
from hpcbench.node.worker.tasks import STEPS


def test_each_task_of_equal_steps_has_its_step() -> None:
    assert set(STEPS) == set(STEP_TASKS)
