"""Matrix products and convolutions."""

import math
from dataclasses import dataclass
from typing import ClassVar, Dict, Mapping, Sequence, Tuple

from .operator import FORWARD, IMAGE, INPUT, KERNEL, MATRIX, SPARSE, WEIGHT, Array, Operator, Shape


class _Bilinear(Operator):
    """An operator that is linear in its input and in its weight: each gradient depends on the other array alone."""

    products: ClassVar[Mapping[str, int]] = {INPUT: 1, WEIGHT: 1}

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the names of the arrays with the other role."""
        return [name for name, array in self.arrays().items() if array.role != role]


@dataclass(frozen=True)
class Gemm(_Bilinear):
    """The product C (m, n) = op(A) op(B), where B is the weight; `a_trans` and `b_trans` transpose the stored array."""

    m: int = 1024
    n: int = 1024
    k: int = 1024
    a_trans: bool = False
    b_trans: bool = False

    def arrays(self) -> Dict[str, Array]:
        """Return `a` (m, k) and `b` (k, n); a transposed array is stored the other way around."""
        a, b = _stored((self.m, self.k), self.a_trans), _stored((self.k, self.n), self.b_trans)
        return {"a": Array(a), "b": Array(b, WEIGHT, math.sqrt(3 / self.k))}

    def output(self) -> Array:
        """Return C (m, n)."""
        return Array((self.m, self.n))

    def forward_flops(self) -> int:
        return 2 * self.m * self.n * self.k


@dataclass(frozen=True)
class SparseGemm(Operator):
    """The product C (m, n) = A B of a sparse matrix A and a dense matrix B.

    FLOPs are counted for the nonzero elements of A.
    """

    phases: ClassVar[Sequence[str]] = (FORWARD,)
    m: int = 1024
    n: int = 64
    k: int = 1024
    sparsity: float = 0.9

    def arrays(self) -> Dict[str, Array]:
        """Return `a` (m, k), of which the fraction `sparsity` is zero, and `b` (k, n)."""
        return {"a": Array((self.m, self.k), layout=SPARSE, zeros=self.sparsity), "b": Array((self.k, self.n), WEIGHT)}

    def output(self) -> Array:
        """Return C (m, n)."""
        return Array((self.m, self.n))

    def forward_flops(self) -> int:
        return 2 * self.nonzeros * self.n

    @property
    def nonzeros(self) -> int:
        """Return the number of nonzero elements of A."""
        size = self.m * self.k
        return size - round(self.sparsity * size)

    def numbers_moved(self, phase: str) -> int:
        """Count for each nonzero element of A its value and its column, and the start of each row."""
        return self.nonzeros + self.indices_moved(phase) + self.k * self.n + self.m * self.n

    def indices_moved(self, phase: str) -> int:
        """Count the column of each nonzero element of A, and the start of each row."""
        return self.nonzeros + self.m + 1


@dataclass(frozen=True)
class Bmm(Operator):
    """The products C (batch, m, n) = A B of a batch of matrices. Both are inputs."""

    products: ClassVar[Mapping[str, int]] = {INPUT: 2}
    batch: int = 16
    m: int = 256
    n: int = 256
    k: int = 64

    def arrays(self) -> Dict[str, Array]:
        """Return `a` (batch, m, k) and `b` (batch, k, n)."""
        shapes = {"a": (self.batch, self.m, self.k), "b": (self.batch, self.k, self.n)}
        return {name: Array(shape) for name, shape in shapes.items()}

    def output(self) -> Array:
        """Return C (batch, m, n)."""
        return Array((self.batch, self.m, self.n))

    def forward_flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(frozen=True)
class Linear(_Bilinear):
    """A fully connected layer: y (rows, outputs) = x W^T + b, with W (outputs, inputs)."""

    rows: int = 32
    inputs: int = 1024
    outputs: int = 1024

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (rows, inputs), `weight` (outputs, inputs) and `bias` (outputs,)."""
        spread = math.sqrt(3 / self.inputs)
        return {
            "x": Array((self.rows, self.inputs)),
            "weight": Array((self.outputs, self.inputs), WEIGHT, spread, MATRIX),
            "bias": Array((self.outputs,), WEIGHT, spread),
        }

    def output(self) -> Array:
        """Return y (rows, outputs)."""
        return Array((self.rows, self.outputs))

    def read_by_gradient(self, role: str) -> Sequence[str]:
        """Return the name of the other factor: no gradient depends on the bias."""
        return ["weight"] if role == INPUT else ["x"]

    def forward_flops(self) -> int:
        return 2 * self.rows * self.inputs * self.outputs


@dataclass(frozen=True)
class Conv2d(_Bilinear):
    """A convolution of n images (c_in, h, w) with c_out filters, without bias."""

    n: int = 8
    c_in: int = 64
    h: int = 56
    w: int = 56
    c_out: int = 64
    filter_h: int = 3
    filter_w: int = 3
    pad_h: int = 1
    pad_w: int = 1
    stride_h: int = 1
    stride_w: int = 1

    def __post_init__(self) -> None:
        if min(self.output().shape) < 1:
            raise ValueError("the image of %d x %d is smaller than the filter" % (self.h, self.w))

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (n, c_in, h, w) and `kernel` (c_out, c_in, filter_h, filter_w)."""
        spread = math.sqrt(3 / self.terms)
        return {
            "x": Array((self.n, self.c_in, self.h, self.w), layout=IMAGE),
            "kernel": Array((self.c_out, self.c_in, self.filter_h, self.filter_w), WEIGHT, spread, KERNEL),
        }

    def output(self) -> Array:
        """Return y (n, c_out, height, width)."""
        sides = ((self.h, self.pad_h, self.filter_h, self.stride_h), (self.w, self.pad_w, self.filter_w, self.stride_w))
        height, width = ((size + 2 * pad - window) // stride + 1 for size, pad, window, stride in sides)
        return Array((self.n, self.c_out, height, width), layout=IMAGE)

    @property
    def terms(self) -> int:
        """Return the number of products in each element of the output."""
        return self.c_in * self.filter_h * self.filter_w

    def forward_flops(self) -> int:
        return 2 * self.output().size * self.terms


@dataclass(frozen=True)
class Attention(Operator):
    """Scaled dot-product attention, softmax(Q K^T / sqrt(head_size)) V (Vaswani et al., 2017, equation 1).

    With `causal`, a time step has no access to later ones. The FLOPs are those of the whole score matrix.
    """

    products: ClassVar[Mapping[str, int]] = {INPUT: 2}
    batch: int = 4
    heads: int = 8
    time: int = 128
    head_size: int = 64
    causal: bool = False

    def arrays(self) -> Dict[str, Array]:
        """Return `query`, `key` and `value`, each (batch, heads, time, head_size)."""
        return {name: self.output() for name in ("query", "key", "value")}

    def output(self) -> Array:
        """Return (batch, heads, time, head_size)."""
        return Array((self.batch, self.heads, self.time, self.head_size))

    def forward_flops(self) -> int:
        return 2 * 2 * self.batch * self.heads * self.time**2 * self.head_size


def _stored(shape: Tuple[int, int], transposed: bool) -> Shape:
    return shape[::-1] if transposed else shape
