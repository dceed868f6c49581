"""The workload of a case before it runs: cases of one workload fail for the same cause of their program."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hpcbench.core.run_spec import COMMAND

if TYPE_CHECKING:
    from hpcbench.plan.case import Case

_OF_MODELS = (
    *("framework", "model", "model_options", "input", "loss_function", "step"),
    *("task", "operator", "phase", "sizes", "strategy", "dtype", "device", "execution"),
)


def workload_of(case: Case, same_workload: Collection[str]) -> tuple[str, ...]:
    """Return what distinguishes the workload of a case from others; `same_workload` are parameters that do not.

    Commands differ by environment, launcher and user parameters: the program in a command is unknown.
    """
    parameters = case.parameters
    if parameters.framework != COMMAND:
        return case.environment, *(repr(getattr(parameters, name)) for name in _OF_MODELS)
    own = (f"{name}={value!r}" for name, value in case.user_parameters.items() if name not in same_workload)
    return case.environment, parameters.launch, *own
