"""The shapes of all tensors of a graph, for inputs of known shapes."""

from typing import Any, Dict, Iterable, Mapping, Tuple

import numpy
import onnx
import onnxruntime
from onnx import helper, shape_inference

Shapes = Dict[str, Tuple[int, ...]]


def inferred(model: onnx.ModelProto, inputs: Shapes) -> Shapes:
    """Return the shapes that follow from those of the inputs; tensors with unknown dimensions are absent."""
    return concrete(model, inputs)[1]


def concrete(model: onnx.ModelProto, inputs: Shapes) -> Tuple[onnx.ModelProto, Shapes]:
    """Return a copy of the model with the shapes and data types that follow from its inputs, and these shapes."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    del graph.value_info[:]  # they may have the dynamic dimensions, or those of the export
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    for value in graph.input:
        if value.name in inputs:
            value.type.tensor_type.shape.CopyFrom(_shape(inputs[value.name]))
    changed = shape_inference.infer_shapes(changed, data_prop=True)
    found: Shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*changed.graph.input, *changed.graph.value_info, *changed.graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(dimension.HasField("dim_value") for dimension in tensor.shape.dim):
            found[value.name] = tuple(dimension.dim_value for dimension in tensor.shape.dim)
    return changed, found


def observed(model: onnx.ModelProto, names: Iterable[str], feeds: "Mapping[str, numpy.ndarray]") -> Shapes:
    """Return the shapes of the named tensors in a forward pass on the CPU, without optimizations.

    External weights are zeros that the kernel does not allocate: the pass hardly changes the peak memory.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.output[:]
    changed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")  # copies of weights
    zeros = _external_zeros(changed)
    options.add_external_initializers(list(zeros), list(zeros.values()))
    session = onnxruntime.InferenceSession(changed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    return {name: tuple(array.shape) for name, array in zip(outputs, session.run(outputs, dict(feeds)))}


def _external_zeros(model: onnx.ModelProto) -> Dict[str, onnxruntime.OrtValue]:
    zeros = {}
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            del tensor.external_data[:]
            tensor.external_data.add(key="location", value="zeros")  # required, and not read
            array = numpy.zeros(tensor.dims, helper.tensor_dtype_to_np_dtype(tensor.data_type))
            zeros[tensor.name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    return zeros


def _shape(sizes: Tuple[int, ...]) -> Any:
    dimensions = [onnx.TensorShapeProto.Dimension(dim_value=size) for size in sizes]
    return onnx.TensorShapeProto(dim=dimensions)
