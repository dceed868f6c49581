"""The parameters of an operator: its name, the phase, its sizes, and which other parameters it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hpcbench.config.workload import external_model
from hpcbench.core.frameworks import OPERATOR, TASKS
from hpcbench.models.operators.catalog import OPERATORS, operator_of, sizes_of
from hpcbench.models.operators.operator import FORWARD

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters

PARAMETERS = ("operator", "phase", "sizes", "validate")
# Parameters of networks, which an operator does not have; null in its plans and records.
NOT_OF_OPERATORS = (
    *("model", "model_options", *external_model.PARAMETERS, "batch_size"),
    *("optimizer", "averaging_period", "data", "held_out", "target_accuracy", "max_epochs"),
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
    operator_of(name, parameters.sizes).check_phase(parameters.phase)


def check_absent(parameters: Parameters) -> None:
    """Raise ValueError if a network has parameters of operators."""
    for name in PARAMETERS:
        if name == "validate" and _has_training_data(parameters):
            continue
        if name in parameters.model_fields_set and getattr(parameters, name) not in (None, False, {}, FORWARD):
            also = ", or a training with data" if name == "validate" else ""
            raise ValueError(f"'{name}' requires task: {OPERATOR}{also}, not {parameters.task}")


def of_network(parameters: Parameters) -> dict[str, Any]:
    """Return the values of PARAMETERS of a network: None, except `validate` for a training with data."""
    return {**dict.fromkeys(PARAMETERS), "validate": parameters.validate if _has_training_data(parameters) else None}


def _has_training_data(parameters: Parameters) -> bool:
    return parameters.data is not None and TASKS[parameters.task].trains


def changed_sizes(parameters: Parameters) -> dict[str, Any]:
    """Return the sizes that differ from the defaults of the operator."""
    defaults = sizes_of(parameters.operator) if parameters.operator in OPERATORS else {}
    return {name: value for name, value in parameters.sizes.items() if value != defaults.get(name)}
