"""Conditions of `exclude` that are mappings: the value of a parameter at a point, and whether it is the wanted one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcbench.config.expressions import Resolver
from hpcbench.config.workload.nested import value_at
from hpcbench.models import catalog, schedules
from hpcbench.models.operators.catalog import OPERATORS, sizes_of


def value_of(resolver: Resolver, name: str) -> Any:
    """Return the value of a parameter or of a dotted name, also if it is a default of the model or operator."""
    root, dot, _ = name.partition(".")
    value = resolver.parameter(root)
    if dot and root in ("model_options", "sizes"):
        value = {**_defaults(resolver, root), **(value or {})}
    return value_at({root: value}, name)


def _defaults(resolver: Resolver, root: str) -> Mapping[str, Any]:
    if root == "model_options":
        model = catalog.MODELS.get(str(resolver.parameter("model")))
        return model.options if model else {}
    operator = str(resolver.parameter("operator"))
    return sizes_of(operator) if operator in OPERATORS else {}


def matches(name: str, value: Any, wanted: Any) -> bool:
    """Return whether the value of a parameter is the wanted one, or one of a list.

    `adam` matches every optimizer of this name, and a mapping every optimizer with these options.
    """
    if isinstance(wanted, list) and value != wanted:
        return any(matches(name, value, each) for each in wanted)
    if name == "optimizer" and isinstance(value, Mapping):
        given = {"name": wanted} if isinstance(wanted, str) else wanted
        return isinstance(given, Mapping) and all(_is_equal(value.get(key), each) for key, each in given.items())
    return _is_equal(value, wanted)


def _is_equal(value: Any, wanted: Any) -> bool:
    return bool(schedules.simplest(value) == schedules.simplest(wanted))
