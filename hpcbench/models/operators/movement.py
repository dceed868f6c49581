"""Operators that move numbers without computing."""

from dataclasses import dataclass
from typing import Dict, Sequence

from .operator import IMAGE, INDEX, WEIGHT, Array, Operator


@dataclass(frozen=True)
class _Movement(Operator):
    """An operator whose gradient depends on the cotangent alone."""

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the names of the arrays with indices."""
        return [name for name, array in self.arrays().items() if array.role == INDEX]


@dataclass(frozen=True)
class Embedding(_Movement):
    """The rows of a table (vocabulary, width) for `tokens` indices."""

    vocabulary: int = 30522
    width: int = 768
    tokens: int = 4096

    def arrays(self) -> Dict[str, Array]:
        """Return `indices` (tokens,) and `table` (vocabulary, width)."""
        return {
            "indices": Array((self.tokens,), INDEX, below=self.vocabulary),
            "table": Array((self.vocabulary, self.width), WEIGHT),
        }

    def output(self) -> Array:
        """Return (tokens, width)."""
        return Array((self.tokens, self.width))

    def numbers_moved(self, phase: str) -> int:
        """Count the indices, and each vector once where it is read and once where it is written."""
        return self.tokens * (1 + 2 * self.width)


@dataclass(frozen=True)
class Transpose(_Movement):
    """A matrix with its dimensions exchanged, as a copy."""

    rows: int = 1024
    columns: int = 1024

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (rows, columns)."""
        return {"x": Array((self.rows, self.columns))}

    def output(self) -> Array:
        """Return (columns, rows)."""
        return Array((self.columns, self.rows))


@dataclass(frozen=True)
class Concat(_Movement):
    """Two batches of n images (c, h, w), joined along the channels."""

    n: int = 8
    c: int = 64
    h: int = 56
    w: int = 56

    def arrays(self) -> Dict[str, Array]:
        """Return `a` and `b`, both (n, c, h, w)."""
        return {name: Array((self.n, self.c, self.h, self.w), layout=IMAGE) for name in ("a", "b")}

    def output(self) -> Array:
        """Return (n, 2 c, h, w)."""
        return Array((self.n, 2 * self.c, self.h, self.w), layout=IMAGE)


@dataclass(frozen=True)
class Flatten(_Movement):
    """Images (c, h, w) as vectors in the order (channel, height, width): a copy if the framework orders channels last.

    Otherwise it is a view, and the time is that of the call.
    """

    n: int = 8
    c: int = 64
    h: int = 7
    w: int = 7

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (n, c, h, w)."""
        return {"x": Array((self.n, self.c, self.h, self.w), layout=IMAGE)}

    def output(self) -> Array:
        """Return (n, c h w)."""
        return Array((self.n, self.c * self.h * self.w))
