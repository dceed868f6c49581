"""A hash of what a graph computes, without the values of weights and without names."""

import hashlib
import math
from typing import Any, Dict, Iterator, List

import onnx

from .model_file import FLOATS, numpy_name
from .shapes import Shapes

DIGITS = 16
_MAX_LISTED = 1024  # elements of a constant of integers, such as a shape


def fingerprint(graph: Any, shapes: Shapes) -> str:
    """Return the hash of operators, attributes, connections and shapes of a graph.

    Graphs that differ only in names or in floating-point weights have the same fingerprint.
    """
    text = "\n".join(_lines(graph, shapes, {}))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _lines(graph: Any, shapes: Shapes, numbers: Dict[str, int]) -> Iterator[str]:
    """Yield a line per input, weight, operator and output; `numbers` has those of the tensors by name."""
    for value in graph.input:
        yield "input %s" % _numbered([value.name], shapes, numbers)
    for tensor in graph.initializer:
        yield "weight %s %s" % (_numbered([tensor.name], shapes, numbers), _tensor(tensor))
    for node in graph.node:
        attributes = [_attribute(each, shapes, numbers) for each in sorted(node.attribute, key=lambda each: each.name)]
        read, written = (_numbered(names, shapes, numbers) for names in (node.input, node.output))
        yield "%s %s %s -> %s %s" % (node.domain, node.op_type, read, written, attributes)
    yield "output %s" % _numbered([value.name for value in graph.output], shapes, numbers)


def _numbered(names: Any, shapes: Shapes, numbers: Dict[str, int]) -> List[Any]:
    """Return number and shape of each tensor, numbered as they first appear; None for one that is left out."""
    return [(numbers.setdefault(name, len(numbers)), shapes.get(name)) if name else None for name in names]


def _attribute(attribute: Any, shapes: Shapes, numbers: Dict[str, int]) -> Any:
    if attribute.type == onnx.AttributeProto.TENSOR:
        return attribute.name, _tensor(attribute.t)
    if attribute.type == onnx.AttributeProto.GRAPH:
        return attribute.name, list(_lines(attribute.g, shapes, numbers))
    return attribute.name, onnx.helper.get_attribute_value(attribute)


def _tensor(tensor: Any) -> Any:
    """Return type and shape of a constant, with the values of a small one of integers, which may be a shape."""
    dtype, shape = numpy_name(tensor.data_type), tuple(tensor.dims)
    is_large = dtype in FLOATS or math.prod(shape) > _MAX_LISTED or tensor.data_location == onnx.TensorProto.EXTERNAL
    return dtype, shape, None if is_large else onnx.numpy_helper.to_array(tensor).tolist()
