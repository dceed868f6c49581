"""The parameters of an operator: its name, the phase, its sizes, and which other parameters it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpcbench.config.workload import external_model
from hpcbench.core.frameworks import BACKWARD, COMPILED, EAGER, INPUT_PIPELINE, OPERATOR, TIME_TO_ACCURACY, TRAINING
from hpcbench.models.operators.catalog import OPERATORS, operator_of, sizes_of
from hpcbench.models.operators.operator import FORWARD
from hpcbench.models.operators.user_file import file_of

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters

PARAMETERS = ("operator", "phase", "sizes")
_WITH_OWN = ("pytorch",)  # the frameworks that run operators of the user
_WITH_COLLECTIVE = ("pytorch",)  # the frameworks whose collective operators hpcbench runs
# Parameters of networks, which an operator does not have; null in its plans and records.
NOT_OF_OPERATORS = (
    *("model", "model_options", *external_model.PARAMETERS, "batch_size"),
    *("optimizer", "averaging_period", "data", "held_out", "target_accuracy", "max_epochs", "page_cache"),
)


def check(parameters: Parameters) -> None:
    """Raise ValueError if the parameters of an operator do not fit together."""
    name = parameters.operator
    if name is None:
        raise ValueError(f"'operator' is missing: task: {OPERATOR} requires one of {', '.join(OPERATORS)}")
    for other in NOT_OF_OPERATORS:
        if other in parameters.model_fields_set and getattr(parameters, other) is not None:
            hint = "; use sizes" if other == "batch_size" else ""
            raise ValueError(f"'{other}' cannot be used with task: {OPERATOR}{hint}")
    if parameters.strategy != "single":
        raise ValueError(f"strategy: {parameters.strategy} cannot be used with task: {OPERATOR}")
    if file_of(name) is None:
        operator_of(name, parameters.sizes).check_phase(parameters.phase)
        if is_collective(name):
            _check_collective(name, parameters)
    else:
        _check_own(parameters)


def _check_collective(name: str, parameters: Parameters) -> None:
    """Raise ValueError for a collective operator that cannot run."""
    if parameters.framework not in _WITH_COLLECTIVE:
        raise ValueError(f"the operator {name} requires framework: {_WITH_COLLECTIVE[0]}, not {parameters.framework}")
    if parameters.execution == COMPILED:
        raise ValueError(f"operator: {name} cannot be used with execution: {COMPILED}; use execution: {EAGER}")
    if parameters.tasks < 2:
        raise ValueError(f"the operator {name} requires several tasks; set tasks_per_node or nodes")


def _check_own(parameters: Parameters) -> None:
    """Raise ValueError for an operator in a file of the user that cannot run; the node checks the file."""
    if parameters.framework not in _WITH_OWN:
        raise ValueError(f"'{parameters.operator}' requires framework: {_WITH_OWN[0]}, not {parameters.framework}")
    for size, value in parameters.sizes.items():
        if not size.isidentifier() or not isinstance(value, bool | int | float | str):
            raise ValueError(f"the size '{size}' must be an argument of `inputs` with a number, text, true or false")


def applies(name: str, parameters: Parameters) -> bool:
    """Return whether a parameter has an effect on the task of these parameters."""
    if parameters.task == OPERATOR:
        return name not in NOT_OF_OPERATORS
    if name in PARAMETERS:
        return False
    if name == "optimizer":
        return parameters.task in (TRAINING, TIME_TO_ACCURACY)  # which update weights
    return parameters.task == TIME_TO_ACCURACY or name not in ("target_accuracy", "max_epochs", "held_out")


def is_collective(operator: str | None) -> bool:
    """Return whether all tasks make one call of an operator together."""
    return operator in OPERATORS and OPERATORS[operator].is_collective


def check_absent(parameters: Parameters) -> None:
    """Raise ValueError if a network has parameters of operators."""
    for name in PARAMETERS:
        if name in parameters.model_fields_set and getattr(parameters, name) not in (None, False, {}, FORWARD):
            raise ValueError(f"'{name}' requires task: {OPERATOR}, not {parameters.task}")
    if parameters.validate and parameters.task == TIME_TO_ACCURACY and parameters.data is None:
        raise ValueError(f"'validate' with task: {TIME_TO_ACCURACY} requires 'data'; set it, or use task: {BACKWARD}")
    if parameters.validate and parameters.task == INPUT_PIPELINE:
        raise ValueError(f"'validate' cannot be used with task: {parameters.task}; use task: backward")


def changed_sizes(parameters: Parameters) -> dict[str, Any]:
    """Return the sizes that differ from the defaults of the operator."""
    defaults = sizes_of(parameters.operator) if parameters.operator in OPERATORS else {}
    return {name: value for name, value in parameters.sizes.items() if value != defaults.get(name)}
