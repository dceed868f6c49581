"""A call of an operator of aten: its name, and its arguments from their canonical JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Work = dict[str, Any]
"""Columns of the table of operators; those that are absent are the ones of the call, or empty."""


@dataclass(frozen=True)
class Tensor:
    """A tensor among the arguments of a call."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Tensors:
    """A list of tensors that is described by its totals."""

    count: int
    elements: int


@dataclass(frozen=True)
class Call:
    """One call of an operator; `flops` is NaN if no formula is known."""

    name: str  # without namespace and overload: `convolution`
    phase: str
    dtype: str  # of the first output
    flops: float
    bytes: float
    arguments: Mapping[str, Any]  # with tensors as Tensor, and long lists of them as Tensors

    def tensor(self, *names: str) -> Tensor:
        """Return the first of these arguments that the call has. Raise KeyError if it has none that is a tensor."""
        for name in names:
            if isinstance(self.arguments.get(name), Tensor):
                found: Tensor = self.arguments[name]
                return found
        raise KeyError(names[0])

    def integers(self, *names: str) -> tuple[int, ...]:
        """Return the first of these arguments that the call has, as integers. Raise KeyError if it has none."""
        for name in names:
            value = self.arguments.get(name)
            if value is not None:
                return tuple(value) if isinstance(value, list) else (int(value),)
        raise KeyError(names[0])

    def tensors(self) -> Iterator[Tensor]:
        """Yield the tensors among the arguments, and those of short lists."""
        for value in self.arguments.values():
            yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Tensor))


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments from their canonical JSON. Raise ValueError if the text is not a JSON object."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the arguments of an operator are not a JSON object")
    return {name: _value(value) for name, value in found.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        if "shape" in value:
            return Tensor(tuple(value["shape"]), tuple(value["strides"]), value["dtype"])
        return Tensors(value["tensors"], value["elements"]) if "tensors" in value else value
    return [_value(each) for each in value] if isinstance(value, list) else value
