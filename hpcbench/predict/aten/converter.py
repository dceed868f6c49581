"""What converts the calls of a family of operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from hpcbench.predict.aten.call import Call, Work

Converter = Callable[[Call], list[Work]]
"""Return what a call computes: one operator, or several if it launches several. Raise KeyError, TypeError, ValueError,
IndexError, AttributeError or ArithmeticError if the arguments are not those of the operator."""

_BACKWARD = "_backward"


def function_of(name: str) -> str:
    """Return the name of what an operator computes: `gelu_backward` for `gelu_backward`, `add` for `_foreach_add_`."""
    base = name.removeprefix("_foreach_").strip("_")
    for prefix in ("native_", "fused_"):
        base = base.removeprefix(prefix)
    return base


def without_backward(name: str) -> str:
    """Return the name of the operator whose gradient a call computes, or its own name."""
    return name.removesuffix("_data").removesuffix(_BACKWARD)


def broadcast(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of an elementwise result. Raise ValueError if the shapes do not fit."""
    result: list[int] = []
    for shape in shapes:
        padded = [1] * (len(result) - len(shape)) + list(shape)
        result = [1] * (len(padded) - len(result)) + result
        if any(one != other and 1 not in (one, other) for one, other in zip(result, padded, strict=True)):
            raise ValueError(f"the shapes {result} and {padded} cannot be broadcast")
        result = [other if one == 1 else one for one, other in zip(result, padded, strict=True)]
    return tuple(result)


def rows_and_columns(shape: tuple[int, ...]) -> dict[str, int]:
    """Return the elements of a tensor as rows of its last dimension."""
    return {"rows": math.prod(shape[:-1]), "columns": shape[-1] if shape else 1}
