"""FLOPs of the operators of ONNX that are matrix products, convolutions or attention (1 MAC = 2 FLOPs).

The operators are ONNX's and those of ONNX Runtime's domain com.microsoft.
"""

import math
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from onnx import helper

from .model_file import graphs
from .shapes import Shapes

_Shape = Tuple[int, ...]
_Formula = Callable[[Sequence[Optional[_Shape]], _Shape, Mapping[str, Any]], Optional[int]]
_PRODUCTS = re.compile(r"MatMul|Gemm|Conv|Attention|LSTM|GRU|RNN|Einsum|MoE")  # in names of operators


def needed(graph: Any) -> List[str]:
    """Return the tensors whose shapes determine the FLOPs: inputs and the first output of the operators that count."""
    counted = [node for node in graph.node if _formula(node)]
    return list(dict.fromkeys(name for node in counted for name in (*node.input, node.output[0]) if name))


def total(graph: Any, shapes: Shapes) -> Tuple[int, List[str]]:
    """Return the FLOPs of a forward pass, and remarks on operators whose FLOPs are not included.

    These are operators without a formula here, with unknown shapes, and in bodies of loops and conditions.
    """
    counts = [(node.op_type, of_node(node, shapes)) for node in graph.node if is_product(node)]
    _, *bodies = graphs(graph)
    missed = [name for name, count in counts if count is None]
    missed += [node.op_type for body in bodies for node in body.node if is_product(node)]
    return sum(count or 0 for _, count in counts), _remarks(missed)


def is_product(node: Any) -> bool:
    """Return whether an operator is a matrix product, a convolution, attention or a recurrent layer."""
    return bool(_PRODUCTS.search(node.op_type))


def of_node(node: Any, shapes: Shapes) -> Optional[int]:
    """Return the FLOPs of an operator; None if they are unknown."""
    formula, names = _formula(node), [*node.input, node.output[0]]
    if formula is None or any(name and name not in shapes for name in names):
        return None
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    inputs = [shapes[name] if name else None for name in node.input]
    output = shapes[node.output[0]] if node.output[0] else ()  # recurrent layers may leave their first output out
    return formula(inputs, output, attributes)


def _remarks(missed: Sequence[str]) -> List[str]:
    if not missed:
        return []
    names = ", ".join(sorted(set(missed)))
    counted = "1 operator" if len(missed) == 1 else "%d operators" % len(missed)
    return ["flops_per_item does not include %s of the graph: %s" % (counted, names)]


def _formula(node: Any) -> Optional[_Formula]:
    return _FORMULAS.get((node.domain or "ai.onnx", node.op_type))


def _conv(kernel: int) -> _Formula:
    """Return the formula of a convolution whose kernel, (filters, channels / groups, ...), is an input."""
    return lambda inputs, output, attributes: 2 * math.prod(output) * math.prod(_of(inputs, kernel)[1:])


def _conv_transpose(inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]) -> int:
    return 2 * math.prod(_of(inputs, 0)) * math.prod(_of(inputs, 1)[1:])


def _matrix_product(inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]) -> int:
    first = _of(inputs, 0)
    depth = first[-2] if attributes.get("transA") and len(first) > 1 else first[-1]
    return 2 * math.prod(output) * depth


def _recurrent(inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]) -> int:
    """Return the FLOPs of an LSTM, GRU or RNN: each time step multiplies by the kernels of input and hidden state."""
    first, second, _ = _of(inputs, 0)  # time and batch, in either order
    return 2 * first * second * (math.prod(_of(inputs, 1)) + math.prod(_of(inputs, 2)))


def _einsum(inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]) -> Optional[int]:
    """Return the FLOPs of a product of two tensors; None for more of them, whose order is not defined."""
    equation = attributes["equation"].decode().replace(" ", "").split("->")[0]
    terms = equation.split(",")
    if len(terms) == 1:
        return 0
    if len(terms) > 2 or "." in equation:
        return None
    sizes = {letter: size for term, shape in zip(terms, inputs) for letter, size in zip(term, shape or ())}
    return 2 * math.prod(sizes.values())


def _attention(past: int) -> _Formula:
    """Return the formula of attention whose input number `past` has the keys of earlier time steps.

    It counts query x key and probabilities x value, also masked scores. Tensors are (batch, time, width), or (batch,
    heads, time, width of a head); for others, such as packed ones, FLOPs are unknown.
    """

    def formula(inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]) -> Optional[int]:
        query, key, earlier = (inputs[place] if len(inputs) > place else None for place in (0, 1, past))
        if query is None or key is None or len(query) != len(key):
            return None
        time = key[-2] + (earlier[-2] if earlier else 0)
        return 2 * time * (math.prod(query) + math.prod(output))

    return formula


def _projected_attention(
    inputs: Sequence[Optional[_Shape]], output: _Shape, attributes: Mapping[str, Any]
) -> Optional[int]:
    """Return the FLOPs of com.microsoft's Attention, which also computes query, key and value from its input."""
    items, kernel = _of(inputs, 0), _of(inputs, 1)
    if len(inputs) > 4 and inputs[4]:
        return None  # with past keys and values
    batch, time, _ = items
    query = attributes.get("qkv_hidden_sizes", [kernel[1] // 3])[0]
    return 2 * batch * time * math.prod(kernel) + 2 * time * (batch * time * query + math.prod(output))


def _of(inputs: Sequence[Optional[_Shape]], place: int) -> _Shape:
    shape = inputs[place]
    assert shape is not None  # noqa: S101 - the operator requires this input
    return shape


_FORMULAS: Dict[Tuple[str, str], _Formula] = {
    ("ai.onnx", "Conv"): _conv(1),
    ("ai.onnx", "ConvInteger"): _conv(1),
    ("ai.onnx", "QLinearConv"): _conv(3),
    ("ai.onnx", "ConvTranspose"): _conv_transpose,
    ("ai.onnx", "Gemm"): _matrix_product,
    ("ai.onnx", "MatMul"): _matrix_product,
    ("ai.onnx", "MatMulInteger"): _matrix_product,
    ("ai.onnx", "QLinearMatMul"): _matrix_product,
    ("ai.onnx", "LSTM"): _recurrent,
    ("ai.onnx", "GRU"): _recurrent,
    ("ai.onnx", "RNN"): _recurrent,
    ("ai.onnx", "Einsum"): _einsum,
    ("ai.onnx", "Attention"): _attention(4),
    ("com.microsoft", "FusedConv"): _conv(1),
    ("com.microsoft", "FusedGemm"): _matrix_product,
    ("com.microsoft", "FusedMatMul"): _matrix_product,
    ("com.microsoft", "DynamicQuantizeMatMul"): _matrix_product,
    ("com.microsoft", "MatMulNBits"): _matrix_product,
    ("com.microsoft", "Attention"): _projected_attention,
    ("com.microsoft", "MultiHeadAttention"): _attention(6),
}
