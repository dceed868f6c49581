"""Count the FLOPs of TensorFlow operations while they run eagerly (1 MAC = 2 FLOPs).

FLOPs are those of matrix products and convolutions. In a function, which runs as a graph, operations count when the
graph is built: there, the body of a loop counts once.
"""

from contextlib import contextmanager
from math import prod
from typing import Any, Callable, Dict, Iterator, Sequence

from tensorflow.python.framework import op_callbacks  # the hook of tf.debugging; no public API has one

Attributes = Dict[str, Any]


class Count:
    """The FLOPs counted so far."""

    def __init__(self) -> None:
        self.flops = 0

    def add(self, kind: Any, inputs: Any, attributes: Any, outputs: Any, *_: Any, **__: Any) -> None:
        """Add the FLOPs of an operation. TensorFlow calls this; attributes are keys and values in turn."""
        count = _COUNTS.get(kind.decode() if isinstance(kind, bytes) else kind)
        if count:
            given = dict(zip(attributes[::2], attributes[1::2]))
            self.flops += 2 * count([tuple(each.shape) for each in inputs], tuple(outputs[0].shape), given)


@contextmanager
def counting() -> Iterator[Count]:
    """Count the FLOPs of the operations within the context."""
    count = Count()
    op_callbacks.add_op_callback(count.add)
    try:
        yield count
    finally:
        op_callbacks.remove_op_callback(count.add)


def _matrix_product(inputs: Sequence[Any], output: Any, attributes: Attributes) -> int:
    transposed = attributes.get("transpose_a", attributes.get("adj_x"))
    return prod(output) * inputs[0][-2 if transposed else -1]


def _einsum(inputs: Sequence[Any], output: Any, attributes: Attributes) -> int:
    """Return the multiplications of a product of two tensors: the product of all dimensions."""
    if len(inputs) < 2:
        return 0
    equation = attributes["equation"]
    terms = (equation.decode() if isinstance(equation, bytes) else equation).split("->")[0].split(",")
    sizes: Dict[str, int] = {}
    for term, shape in zip(terms, inputs):
        before, dots, after = term.partition("...")
        names = [*before, *range(len(after) + len(before) - len(shape), 0), *after] if dots else list(before)
        sizes.update({name: max(size, sizes.get(name, 1)) for name, size in zip(names, shape)})
    return prod(sizes.values())


def _convolution(inputs: Sequence[Any], output: Any, attributes: Attributes) -> int:
    """Return those of a convolution: for each output, the kernel (*window, inputs, outputs)."""
    return prod(output) * prod(inputs[1][:-1])


def _depthwise(inputs: Sequence[Any], output: Any, attributes: Attributes) -> int:
    """Return those of a convolution with the kernel (height, width, inputs, multiplier): each input is separate."""
    return prod(output) * prod(inputs[1][:2])


def _transposed(inputs: Sequence[Any], output: Any, attributes: Attributes) -> int:
    """Return those of a transposed convolution: for each of its inputs, the kernel (*window, outputs, inputs)."""
    return prod(inputs[2]) * prod(inputs[1][:-1])


_COUNTS: Dict[str, Callable[[Sequence[Any], Any, Attributes], int]] = {
    "MatMul": _matrix_product,
    "BatchMatMul": _matrix_product,
    "BatchMatMulV2": _matrix_product,
    "BatchMatMulV3": _matrix_product,
    "Einsum": _einsum,
    "Conv2D": _convolution,
    "Conv3D": _convolution,
    "DepthwiseConv2dNative": _depthwise,
    "Conv2DBackpropInput": _transposed,
    "Conv3DBackpropInputV2": _transposed,
}
