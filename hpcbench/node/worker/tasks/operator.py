"""Operator: one step is one call of a phase."""

from typing import Any, Callable

from ...frameworks.operator_computation import OperatorComputation


def step(operator: OperatorComputation) -> Callable[[], Any]:
    """Return the function that runs one step."""
    return operator.step
