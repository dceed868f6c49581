"""Softmax and normalizations."""

from dataclasses import dataclass
from typing import Dict, Sequence

from .operator import IMAGE, INPUT, WEIGHT, Array, Operator


@dataclass(frozen=True)
class Softmax(Operator):
    """The softmax of each row."""

    rows: int = 1024
    columns: int = 1024

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (rows, columns)."""
        return {"x": Array((self.rows, self.columns))}

    def output(self) -> Array:
        """Return (rows, columns)."""
        return Array((self.rows, self.columns))


class _Affine(Operator):
    """A normalization with a scale and an offset."""

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the input, and for its own gradient the scale: no gradient depends on the offset."""
        return ["x", "scale"] if role == INPUT else ["x"]


@dataclass(frozen=True)
class LayerNorm(_Affine):
    """Layer normalization of each row, (x - mean) / sqrt(variance + 1e-5) * scale + offset."""

    rows: int = 1024
    features: int = 1024

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (rows, features), `scale` and `offset`, both (features,)."""
        weights = {name: Array((self.features,), WEIGHT) for name in ("scale", "offset")}
        return {"x": Array((self.rows, self.features)), **weights}

    def output(self) -> Array:
        """Return (rows, features)."""
        return Array((self.rows, self.features))


@dataclass(frozen=True)
class BatchNorm(_Affine):
    """Batch normalization of n images (c, h, w) per channel, with an epsilon of 1e-5.

    With `training`, mean and (biased) variance are those of the batch, otherwise the running values 0.125 and 1.25.
    """

    n: int = 8
    c: int = 64
    h: int = 56
    w: int = 56
    training: bool = True

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (n, c, h, w), `scale` and `offset`, both (c,)."""
        weights = {name: Array((self.c,), WEIGHT) for name in ("scale", "offset")}
        return {"x": self.output(), **weights}

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the arrays that a gradient depends on: with running values, that of the input on the scale alone."""
        return super().read_by_gradient(role) if self.training or role != INPUT else ["scale"]

    def output(self) -> Array:
        """Return (n, c, h, w)."""
        return Array((self.n, self.c, self.h, self.w), layout=IMAGE)


EPSILON = 1e-5
RUNNING_MEAN, RUNNING_VARIANCE = 0.125, 1.25  # exact in all data types
