"""Dotted names of parameters: `optimizer.learning_rate` is the key `learning_rate` of the parameter `optimizer`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hpcbench.config.workload.data_source import DataSource
from hpcbench.config.workload.optimizer import LearningRate, Optimizer
from hpcbench.config.yaml_document import Model
from hpcbench.models import optimizers, schedules

_FREE = ("model_options", "input", "sizes")  # their keys depend on the model or operator
_FIELDS: Mapping[str, type[Model]] = {
    "optimizer": Optimizer,
    "optimizer.learning_rate": LearningRate,
    "data": DataSource,
}
NESTED = (*_FREE, "optimizer", "data")
"""The parameters that are mappings."""
DOTTED = frozenset(f"{name}.{field}" for name, model in _FIELDS.items() for field in model.model_fields)
"""The dotted names that do not depend on the model or operator."""
COMPLETED: Mapping[str, Callable[[Any], Any]] = {"optimizer": optimizers.completed}
"""Functions that add the defaults to a parameter that is a mapping, or return the mapping for its short form."""


class NotAMappingError(ValueError):
    """The key of a dotted name, `name`, belongs to a value that is not a mapping."""

    def __init__(self, name: str, outer: str, value: Any) -> None:
        super().__init__(f"'{name}' cannot be set: '{outer}' is {value!r}, not a mapping")
        self.name = name


def is_known(name: str) -> bool:
    """Return whether a dotted name can be set."""
    root, dot, key = name.partition(".")
    return name in DOTTED or bool(root in _FREE and dot and all(key.split(".")))


def folded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by name with dotted names set within the mappings that contain their keys.

    Raise NotAMappingError if a key is set in a value that is not a mapping.
    """
    result = {name: value for name, value in values.items() if "." not in name}
    for name in sorted((name for name in values if "." in name), key=lambda name: name.count(".")):
        root, *keys = name.split(".")
        base = result.get(root)
        if root == "optimizer" and isinstance(base, str):
            base = {"name": base}
        result[root] = _with(base, keys, values[name], name)
    return result


def _with(base: Any, keys: list[str], value: Any, name: str) -> dict[str, Any]:
    if base is not None and not isinstance(base, Mapping):
        raise NotAMappingError(name, name.removesuffix("." + ".".join(keys)), base)
    key, *rest = keys
    inner = (base or {}).get(key)
    return {**(base or {}), key: _with(inner, rest, value, name) if rest else value}


def shown_value(values: Mapping[str, Any], name: str, *left_out: str) -> Any:
    """Return the value of a parameter or of a dotted name as users see it: `adam` for an optimizer by default.

    `left_out` are top-level keys of a mapping that are not included.
    """
    value = value_at(values, name)
    if name == "optimizer" and value:
        return optimizers.in_short(value, *left_out)
    if name == "optimizer.learning_rate":
        return schedules.in_short(value)
    if isinstance(value, Mapping):
        return json.dumps({key: inner for key, inner in value.items() if key not in left_out})
    return value


def keys_in(names: Iterable[str], name: str) -> list[str]:
    """Return the keys of a parameter that are among the dotted names: `width` for `model_options.width`."""
    return [each.removeprefix(f"{name}.") for each in names if each.startswith(f"{name}.")]


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """Return the value of a parameter, or of a key in it by its dotted name; None if it is not there."""
    found: Any = values
    for key in [name] if name in values else name.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
