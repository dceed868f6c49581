"""Operators that reduce arrays: pooling, sums and losses."""

from dataclasses import dataclass
from typing import ClassVar, Dict, Mapping, Sequence

from .operator import DISTINCT, IMAGE, INDEX, LARGEST_WINDOW, UNIFORM, Array, Operator

MAX, AVERAGE, GLOBAL_AVERAGE = "max", "average", "global_average"


@dataclass(frozen=True)
class Pooling(Operator):
    """Pooling of n images (c, h, w) over square windows. Zeros of the padding count as values of an average.

    `mode` is max, average, or global_average: then kernel, stride and padding do not apply.
    """

    choices: ClassVar[Mapping[str, Sequence[str]]] = {"mode": (MAX, AVERAGE, GLOBAL_AVERAGE)}
    n: int = 8
    c: int = 64
    h: int = 56
    w: int = 56
    kernel: int = 2
    stride: int = 2
    pad: int = 0
    mode: str = MAX

    def __post_init__(self) -> None:
        if self.mode == GLOBAL_AVERAGE:
            return
        if min(self.output().shape) < 1:
            raise ValueError("the image of %d x %d is smaller than the kernel, %d" % (self.h, self.w, self.kernel))
        if 2 * self.pad > self.kernel:
            raise ValueError("pad is %d, more than half of the kernel, %d" % (self.pad, self.kernel))
        if self.mode == MAX and self.kernel > LARGEST_WINDOW:
            raise ValueError("the kernel is %d; mode: max has kernels up to %d" % (self.kernel, LARGEST_WINDOW))

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (n, c, h, w); for `max`, windows have no equal numbers, whose gradient would not be defined."""
        values = DISTINCT if self.mode == MAX else UNIFORM
        return {"x": Array((self.n, self.c, self.h, self.w), layout=IMAGE, values=values)}

    def output(self) -> Array:
        """Return (n, c, height, width), or (n, c) for global_average."""
        if self.mode == GLOBAL_AVERAGE:
            return Array((self.n, self.c))
        height, width = ((size + 2 * self.pad - self.kernel) // self.stride + 1 for size in (self.h, self.w))
        return Array((self.n, self.c, height, width), layout=IMAGE)

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the input for `max`; the gradient of an average does not depend on it."""
        return ["x"] if self.mode == MAX else []


@dataclass(frozen=True)
class Sum(Operator):
    """The sum of each row."""

    rows: int = 1024
    columns: int = 1024

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (rows, columns)."""
        return {"x": Array((self.rows, self.columns))}

    def output(self) -> Array:
        """Return (rows,)."""
        return Array((self.rows,))

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return no name: the gradient is the cotangent."""
        return []


@dataclass(frozen=True)
class CrossEntropy(Operator):
    """The mean cross entropy of the softmax of each row and the index of its class."""

    rows: int = 1024
    classes: int = 1000

    def arrays(self) -> Dict[str, Array]:
        """Return `logits` (rows, classes) and `labels` (rows,), which are indices."""
        labels = Array((self.rows,), INDEX, below=self.classes)
        return {"logits": Array((self.rows, self.classes)), "labels": labels}

    def output(self) -> Array:
        """Return the loss, a single number."""
        return Array(())


@dataclass(frozen=True)
class Mse(Operator):
    """The mean squared error of `size` numbers. Both arrays have a gradient."""

    size: int = 1_000_000

    def arrays(self) -> Dict[str, Array]:
        """Return `x` and `target`, both (size,)."""
        return {"x": Array((self.size,)), "target": Array((self.size,))}

    def output(self) -> Array:
        """Return the loss, a single number."""
        return Array(())
