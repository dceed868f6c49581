"""Infer the shapes of a graph that computes shapes: replace operators on known shapes by constants, and repeat."""

import math
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from . import shapes

_MAX_ELEMENTS = 1024  # of a shape, or of a table of shapes; larger constants are data
_RANDOM = ("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike")
_Values = Dict[str, "numpy.ndarray"]


def folded(model: onnx.ModelProto, inputs: shapes.Shapes) -> Tuple[onnx.ModelProto, shapes.Shapes]:
    """Return a copy of the model for inputs of these shapes, and its shapes. Operators on shapes are constants in it.

    The shape inference of ONNX follows only some operators on shapes. Exports with a dynamic batch size have hundreds.
    """
    while True:
        model, known = shapes.concrete(model, inputs)
        if not _fold(model, known):
            return model, known


def _fold(model: onnx.ModelProto, known: shapes.Shapes) -> int:
    """Replace the operators on known shapes by constants. Return their number."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer if _is_small(tensor)}
    used = {name for each in model.graph.node for name in (*each.input, *each.output)}
    nodes: List[Any] = []
    count = 0
    for node in model.graph.node:
        if node.op_type == "Constant":
            values.update(_constant(node))
        branch = _taken(model.graph, node, values, used)
        if branch:
            count += 1
            nodes += branch
            continue
        found = _outputs(model, node, values, known) if node.op_type != "Constant" else None
        if found is None:
            nodes.append(node)
            continue
        count += 1
        values.update(found)
        nodes += [
            helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))
            for name, array in found.items()
        ]
    if count:
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del model.graph.node[:]
        model.graph.node.extend(kept)
    return count


def _taken(graph: Any, node: Any, values: _Values, used: Set[str]) -> List[Any]:
    """Return the operators of the branch that a constant condition selects; empty if the condition is unknown.

    `used` has the names of the graph's tensors. The names of the branch are added to it.
    """
    if node.op_type != "If" or node.input[0] not in values:
        return []
    name = "then_branch" if bool(values[node.input[0]]) else "else_branch"
    (branch,) = (each.g for each in node.attribute if each.name == name)
    own = {name for each in branch.node for name in each.output}.union(each.name for each in branch.initializer)
    if own & used:  # branches of several conditions may use the same names
        return []
    used |= own
    graph.initializer.extend(branch.initializer)
    results = zip(branch.output, node.output)
    return [*branch.node, *(helper.make_node("Identity", [result.name], [name]) for result, name in results)]


def _is_small(tensor: Any) -> bool:
    return tensor.data_location != onnx.TensorProto.EXTERNAL and math.prod(tensor.dims) <= _MAX_ELEMENTS


def _constant(node: Any) -> _Values:
    """Return the value of a constant of numbers by its name; empty if it is large."""
    tensors = [each.t for each in node.attribute if each.name == "value" and _is_small(each.t)]
    return dict(zip(node.output, map(numpy_helper.to_array, tensors)))


def _outputs(model: onnx.ModelProto, node: Any, values: _Values, known: shapes.Shapes) -> Optional[_Values]:
    """Return the outputs of an operator on known shapes; None if it has other inputs, or large outputs."""
    if node.op_type == "Shape" and node.input[0] in known:
        found = {node.output[0]: _shape(node, known[node.input[0]])}
    elif node.op_type == "Size" and node.input[0] in known:
        found = {node.output[0]: numpy.array(math.prod(known[node.input[0]]), "int64")}
    elif not _is_of_constants(node, values, known):
        return None
    else:
        found = _evaluated(model, node, values)
    is_small = all(array.size <= _MAX_ELEMENTS for array in found.values())
    return found if found and is_small else None


def _is_of_constants(node: Any, values: _Values, known: shapes.Shapes) -> bool:
    """Return whether the inputs of an operator are constants, and no output is known to be large."""
    if not node.input or node.op_type in _RANDOM or any(name and name not in values for name in node.input):
        return False
    return all(math.prod(known.get(name, ())) <= _MAX_ELEMENTS for name in node.output)


def _shape(node: Any, sizes: Tuple[int, ...]) -> "numpy.ndarray":
    between = {each.name: each.i for each in node.attribute}
    return numpy.array(sizes[between.get("start", 0) : between.get("end", len(sizes))], "int64")


def _evaluated(model: onnx.ModelProto, node: Any, values: _Values) -> _Values:
    """Return the outputs of an operator of constants; empty if it cannot be evaluated."""
    names = [name for name in node.output if name]
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph([node], "operator", inputs, outputs)
    one = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        arrays = ReferenceEvaluator(one).run(None, {each.name: values[each.name] for each in inputs})
    except Exception:
        return {}
    return {name: numpy.asarray(array) for name, array in zip(names, arrays)}
