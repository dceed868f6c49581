"""Operators that treat each element separately."""

from dataclasses import dataclass
from typing import ClassVar, Dict, Sequence

from .operator import Array, Operator

LEAST = 2.0**-8  # absolute value of numbers that must not be near 0


@dataclass(frozen=True)
class _Elementwise(Operator):
    """An operator on `size` elements."""

    size: int = 1_000_000

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (size,)."""
        return {"x": Array((self.size,))}

    def output(self) -> Array:
        """Return (size,)."""
        return Array((self.size,))


class Relu(_Elementwise):
    """The activation max(x, 0)."""

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (size,), which has no number near 0, where the gradient is not defined."""
        return {"x": Array((self.size,), least=LEAST)}


class Gelu(_Elementwise):
    """The exact activation GELU, by the error function."""


class Tanh(_Elementwise):
    """The activation tanh."""


class Add(_Elementwise):
    """The sum of two arrays, for example at the end of a residual block."""

    def arrays(self) -> Dict[str, Array]:
        """Return `a` and `b`, both (size,)."""
        return {"a": Array((self.size,)), "b": Array((self.size,))}

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return no name: the gradients are the cotangent."""
        return []


@dataclass(frozen=True)
class Dropout(_Elementwise):
    """Dropout in training: each element is 0 with probability `rate`, otherwise x / (1 - rate)."""

    is_random: ClassVar[bool] = True
    rate: float = 0.5

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (size,), which has no number near 0, so that a zero was dropped."""
        return {"x": Array((self.size,), least=LEAST)}
