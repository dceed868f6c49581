"""List the operators of an ONNX graph without running it: one row per node with equal shapes and attributes.

Operators of inputs that are all constant, or shapes, are left out: ONNX Runtime computes them once. Operators that it
fuses into a matrix product or convolution are left out, too. Other fusions are not considered.
"""

import json
import math
import re
from dataclasses import replace
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

import onnx
from onnx import defs, helper

from ....core.profiling.operator_list import ListedOperator, OperatorList
from ....core.profiling.operator_row import FORWARD
from ....models.source import source_of
from ...errors import UnknownWork
from ...workload.problem import Problem
from . import constants, flops, fusions, model_file, model_inputs, shapes

_KIND = "other"  # kinds are those of PyTorch's operators
_VIEW = "view"
_LIBRARY = "onnx"  # of operators without a domain of their own
_STANDARD = ("", "ai.onnx")
_ONNX_RUNTIME = "com.microsoft"
# They return a view of their input.
_VIEWS = ("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout", "Optional")
_CONSTANTS = ("Constant", "ConstantOfShape", "Shape", "Size")
_BITS = {"bool": 8}  # of data types without a number in their names
_DEFAULT_BITS = 32


class _Tensor(NamedTuple):
    """A tensor of the graph, if its shape and data type are known."""

    shape: Tuple[int, ...]
    dtype: str

    @property
    def bytes(self) -> int:
        number = re.search(r"[0-9]+", self.dtype)  # the first one: float8_e4m3fn has further ones
        bits = int(number.group()) if number else _BITS.get(self.dtype, _DEFAULT_BITS)
        return math.prod(self.shape) * bits // 8

    def described(self) -> Dict[str, Any]:
        strides = [math.prod(self.shape[place + 1 :]) for place in range(len(self.shape))]
        return {"shape": list(self.shape), "strides": strides, "dtype": self.dtype}


def operators_of(problem: Problem) -> OperatorList:
    """Return the operators of a forward pass of a batch.

    Raise BadModel if the file or its inputs are not valid, or if the FLOPs or bytes of an operator are unknown.
    """
    parameters = problem.parameters
    path = source_of(parameters["model"]).name
    model = model_file.load(path)
    inputs = model_inputs.inputs_of(
        path, model_file.declared_inputs(path, model), parameters["input"], parameters["batch_size"]
    )
    sizes = {name: (parameters["batch_size"], *each.shape) for name, each in inputs.items()}
    concrete, known = constants.folded(model, sizes)
    _check_known(concrete.graph, known)
    found = _listed(concrete.graph, known, _types(concrete))
    count, dtype = model_file.parameter_count(model), model_file.dtype_of(model)
    return OperatorList("", operators=found, parameter_count=count, dtype=dtype)


def _check_known(graph: Any, known: shapes.Shapes) -> None:
    """Raise UnknownWork if the FLOPs or bytes of an operator are unknown, and therefore its fraction of the time.

    This applies to operators of neither ONNX nor ONNX Runtime, products of unknown shape, and products in a loop or
    condition. ONNX infers no shapes after operators that it does not define.
    """
    after: Dict[str, str] = {}  # tensors of unknown shape, with the operator of another domain before them
    for node in graph.node:
        before = next((after[name] for name in node.input if name in after), None)
        for name, why in _unknown_products(node, known, before):
            raise UnknownWork("model: the FLOPs of %s are unknown: %s" % (name, why))
        domain = "" if node.domain in _STANDARD else node.domain
        own = ".".join(filter(None, (domain, node.op_type))) if not defs.has(node.op_type, domain=domain) else ""
        if own and domain != _ONNX_RUNTIME:
            raise UnknownWork("model: the bytes of %s are unknown: ONNX does not define this operator" % own)
        before = before or own
        if before:
            after.update({name: before for name in node.output if name not in known})


def _unknown_products(node: Any, known: shapes.Shapes, before: Optional[str]) -> Iterator[Tuple[str, str]]:
    """Yield the names of the products in a node whose FLOPs are unknown, and why they are unknown."""
    if flops.is_product(node) and flops.of_node(node, known) is None:
        if before:
            yield node.op_type, "it follows %s, an operator that ONNX does not define" % before
        for name in node.input[:2]:  # further inputs, such as masks, hardly change the FLOPs
            if name and name not in known:
                yield node.op_type, "the shape of its input '%s' is unknown" % name
    for inner in _inner_products(node):
        yield inner.op_type, "it is inside %s" % node.op_type


def _inner_products(node: Any) -> List[Any]:
    """Return the products in the graphs of a loop or condition."""
    graphs = [each.g for each in node.attribute if each.HasField("g")]
    inner = [one for graph in graphs for each in model_file.graphs(graph) for one in each.node]
    return [each for each in inner if flops.is_product(each)]


def _listed(graph: Any, known: shapes.Shapes, types: Dict[str, str]) -> List[ListedOperator]:
    weights = {tensor.name for tensor in graph.initializer}
    constant = _constant(graph, weights)
    fused = fusions.Fusions(graph, constant, known).outputs
    found: Dict[Any, ListedOperator] = {}
    for node in graph.node:
        if node.output[0] in constant or node.output[0] in fused:
            continue
        tensors = {
            name: _Tensor(known[name], types.get(name, "float32"))
            for name in (*node.input, *node.output)
            if name in known
        }
        each = _operator(node, tensors, weights, flops.of_node(node, known))
        key = (each.operator, each.arguments)
        found[key] = replace(found[key], calls=found[key].calls + 1) if key in found else each
    return list(found.values())


def _constant(graph: Any, weights: Set[str]) -> Set[str]:
    """Return the names of the tensors that are constant, or that only the shapes of the inputs determine."""
    found = set(weights)
    for node in graph.node:
        has_graphs = any(each.HasField("g") for each in node.attribute)  # which may read other tensors
        is_constant = node.input and all(name in found for name in node.input if name) and not has_graphs
        if node.op_type in _CONSTANTS or is_constant:
            found.update(name for name in node.output if name)
    return found


def _operator(node: Any, tensors: Dict[str, _Tensor], weights: Set[str], count: Optional[int]) -> ListedOperator:
    library = _LIBRARY if node.domain in _STANDARD else node.domain.replace(".", "_")
    inputs = [tensors[name] for name in node.input if name in tensors]
    outputs = [tensors[name] for name in node.output if name in tensors]
    arguments = {
        "attributes": _attributes(node.attribute),
        "inputs": [_described(name, tensors) for name in node.input],
        "outputs": [each.described() for each in outputs],
    }
    is_view = library == _LIBRARY and (node.op_type in _VIEWS or _moves_no_data(node, tensors))
    written = sum(each.bytes for each in outputs)
    is_lookup = node.op_type == "Gather" and library == _LIBRARY  # it reads as many rows as it returns
    read = written if is_lookup else sum(each.bytes for each in inputs)
    return ListedOperator(
        kind=_VIEW if is_view else _KIND,
        operator="%s.%s" % (library, node.op_type),
        phase=FORWARD,
        arguments=json.dumps(arguments, separators=(",", ":"), sort_keys=True),
        calls=1,
        bytes_moved=0 if is_view else read + written,
        weight_bytes=sum(tensors[name].bytes for name in node.input if name in weights and name in tensors),
        output_bytes=written,
        is_view=is_view,
        dtype=outputs[0].dtype if outputs else None,
        flops=count,
    )


def _described(name: str, tensors: Dict[str, _Tensor]) -> Optional[Dict[str, Any]]:
    """Return an input of an operator: empty if its shape is unknown, and None if the operator does not have it."""
    if not name:
        return None
    return tensors[name].described() if name in tensors else {}


def _moves_no_data(node: Any, tensors: Dict[str, _Tensor]) -> bool:
    """Return whether an operator is a transposition that only moves dimensions of size 1."""
    orders = [list(each.ints) for each in node.attribute if each.name == "perm"]
    if node.op_type != "Transpose" or not orders or node.input[0] not in tensors:
        return False
    shape = tensors[node.input[0]].shape
    moved = [place for place in orders[0] if shape[place] != 1]
    return moved == sorted(moved)


def _attributes(attributes: Sequence[Any]) -> Dict[str, Any]:
    """Return the attributes that are numbers, texts or lists of numbers; not tensors and graphs."""
    found: Dict[str, Any] = {}
    for each in attributes:
        value = helper.get_attribute_value(each)
        if isinstance(value, bytes):
            found[each.name] = value.decode(errors="replace")
        elif all(isinstance(one, (int, float)) for one in (value if isinstance(value, list) else [value])):
            found[each.name] = value
    return found


def _types(model: onnx.ModelProto) -> Dict[str, str]:
    """Return the data types of the tensors of a graph whose types are known."""
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    found = {value.name: value.type.tensor_type.elem_type for value in values}
    found.update({tensor.name: tensor.data_type for tensor in model.graph.initializer})
    return {name: model_file.numpy_name(kind) for name, kind in found.items() if kind}
