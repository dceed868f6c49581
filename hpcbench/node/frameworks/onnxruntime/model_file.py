"""An ONNX file: its graph without large weights, its inputs, its dtype and its parameters."""

import math
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import onnx
from google.protobuf.message import DecodeError
from onnx import helper, inliner

from ...errors import BadModel
from ...workload.user_code import in_one_line

FLOATS = ("float32", "float16", "bfloat16", "float64")
_QUANTIZED = ("int8", "uint8", "int4", "uint4")
_MAX_KEPT = 1024  # elements of a tensor that shape inference may need, such as the target of a Reshape
_VALUES = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
Dimension = Union[int, str]  # a size, or the name of a dynamic dimension; "?" without a name


class Declared(NamedTuple):
    """An input of a graph: its data type and its shape with the batch dimension; None if the rank is unknown."""

    dtype: str
    shape: Optional[Tuple[Dimension, ...]]

    def __str__(self) -> str:
        return "%s [%s]" % (self.dtype, "..." if self.shape is None else ", ".join(map(str, self.shape)))


def load(path: str) -> onnx.ModelProto:
    """Return the model of a file, with functions inlined and without the values of tensors of over 1024 elements.

    These tensors are marked as external, like those in other files, which are not read. Raise BadModel if the file
    cannot be read, or is not an ONNX file.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise BadModel("model: %s cannot be read: %s" % (path, error.strerror)) from error
    except DecodeError as error:
        raise BadModel("model: %s is not an ONNX file: %s" % (path, in_one_line(error))) from error
    if not model.graph.node:
        raise BadModel("model: %s is not an ONNX file: it has no graph" % path)
    if model.functions:
        model = inliner.inline_local_functions(model)
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) > _MAX_KEPT:
            for field in _VALUES:
                tensor.ClearField(field)
            tensor.data_location = onnx.TensorProto.EXTERNAL
    # Cleared fields keep their memory; a copy has only what is left.
    return onnx.ModelProto.FromString(model.SerializeToString())


def graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph and the graphs inside its nodes: bodies of loops and branches of conditions."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from graphs(inner)


def declared_inputs(path: str, model: onnx.ModelProto) -> Dict[str, Declared]:
    """Return the inputs that a run requires, by name. Raise BadModel unless they are tensors with a batch dimension."""
    optional = {tensor.name for tensor in model.graph.initializer}
    required = [value for value in model.graph.input if value.name not in optional]
    if not required:
        raise BadModel("model: %s has no inputs" % path)
    return {value.name: _declared(path, value) for value in required}


def dtype_of(model: onnx.ModelProto) -> Optional[str]:
    """Return the data type of most floating-point weights, or without weights of most inputs; None without either."""
    sizes: "Counter[str]" = Counter()
    for tensor in _weights(model, FLOATS):
        sizes[numpy_name(tensor.data_type)] += math.prod(tensor.dims)
    if not sizes:
        sizes.update(numpy_name(value.type.tensor_type.elem_type) for value in model.graph.input)
    names = [name for name, _ in sizes.most_common() if name in FLOATS]
    return names[0] if names else None


def parameter_count(model: onnx.ModelProto) -> int:
    """Return the number of elements of floating-point and quantized weights: initializers, and constants of a graph.

    Constants of one element, such as factors, are not weights.
    """
    return sum(math.prod(tensor.dims) for tensor in _weights(model, (*FLOATS, *_QUANTIZED)))


def numpy_name(element_type: int) -> str:
    """Return NumPy's name of a data type of ONNX: `float32` for FLOAT, `bfloat16` for BFLOAT16."""
    if element_type == onnx.TensorProto.BFLOAT16:  # onnx before 1.18 maps it to float32
        return "bfloat16"
    return str(helper.tensor_dtype_to_np_dtype(element_type))


def _weights(model: onnx.ModelProto, kinds: Sequence[str]) -> List[Any]:
    tensors = [tensor for graph in graphs(model.graph) for tensor in (*graph.initializer, *_constants(graph))]
    return [tensor for tensor in tensors if numpy_name(tensor.data_type) in kinds]


def _constants(graph: Any) -> List[Any]:
    values = [
        each.t for node in graph.node if node.op_type == "Constant" for each in node.attribute if each.HasField("t")
    ]
    return [tensor for tensor in values if math.prod(tensor.dims) > 1]


def _declared(path: str, value: Any) -> Declared:
    if not value.type.HasField("tensor_type"):
        raise BadModel("model: input '%s' of %s is not a tensor" % (value.name, path))
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return Declared(numpy_name(tensor.elem_type), None)
    shape = tuple(_dimension(dimension) for dimension in tensor.shape.dim)
    if not shape:
        what = "model: input '%s' of %s is a scalar; the first dimension of each input must be the batch"
        raise BadModel(what % (value.name, path))
    return Declared(numpy_name(tensor.elem_type), shape)


def _dimension(dimension: Any) -> Dimension:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value)
    return dimension.dim_param or "?"
