"""ONNX Runtime, for the graph of an ONNX file; it only infers."""

import re
from contextlib import suppress
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

import numpy
import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from ....core.profiling.operator_list import OperatorList
from ....core.record import Work
from ....models.initial_weights import Numbers
from ....models.source import source_of
from ... import oom_detection
from ...errors import BadModel, Unsupported
from ...host import gpus, hardware, topology
from ...host.sysfs import System
from ...workload.data import Items
from ...workload.problem import Problem
from ...workload.user_code import in_one_line, last_lines
from .. import capabilities
from ..adapter import Adapter, Batch, Network
from ..external.building import check_ranks
from ..supported_library import SupportedLibrary
from . import fingerprint, flops, model_file, model_inputs, operator_list, shapes

_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
_OWN_ERRORS: List[Type[Exception]] = [
    each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)
]
_ERRORS: Tuple[Type[Exception], ...] = (RuntimeError, *_OWN_ERRORS)  # with bound inputs, a run raises RuntimeError
# The number of an error, the file, and the place in the source from which it comes, with the signature of the function.
_NUMBER = r"\[ONNXRuntimeError\] : \d+ : \w+ : (?:Load model from .*? failed: ?)?"
_ORIGIN = re.compile(_NUMBER + r"|/\S+:\d+ .*?\)(?: const)? (?=[A-Z])")
_TOO_NEW = re.compile(r"opset|IR version")
_EXPORT = "; export it with an older opset, or build an environment with a newer ONNX Runtime"
_NO_FALLBACK, _ON_CPU = "session.disable_cpu_ep_fallback", "fallback to CPU EP has been explicitly disabled"
# Equal float32 arithmetic in all frameworks: cuBLAS and cuDNN would round inputs to TF32 (10 bits).
_OF_CUDA = {"use_tf32": "0"}


class _Bound(NamedTuple):
    """A binding of inputs and outputs, with the inputs: bindings of older versions do not keep their memory."""

    binding: onnxruntime.IOBinding
    inputs: List[onnxruntime.OrtValue]


class OnnxNetwork(Network):
    """The graph of an ONNX file in a session of ONNX Runtime."""

    def __init__(self, problem: Problem, options: onnxruntime.SessionOptions) -> None:
        super().__init__(problem)
        parameters = problem.parameters
        self.path = source_of(parameters["model"]).name
        model = model_file.load(self.path)
        hardware.reset_peak_resident()  # reading takes twice the size of the file, which the peak must not include
        self._declared = model_file.declared_inputs(self.path, model)
        size = parameters["batch_size"]
        self.inputs = model_inputs.inputs_of(self.path, self._declared, parameters["input"], size)
        _check_dtype(self.path, model, parameters["dtype"])
        self._device = ("cuda", capabilities.own_gpu(problem, gpus.count())) if problem.on_gpu else ("cpu", 0)
        self.session = _session(self.path, options, self._device)
        self.parameter_count = model_file.parameter_count(model)
        self._describe(model)
        check_ranks(problem.group, self._fingerprint, "'%s' has different graphs" % self.path)
        self.feed()

    def synthetic_batch(self, problem: Problem) -> Batch:
        size, numbers = problem.parameters["batch_size"], problem.synthetic_numbers()
        arrays = model_inputs.arrays(self._declared, self.inputs, size, numbers)
        return arrays, numpy.zeros(size, numpy.int64)  # inference does not use labels

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Batch:
        """Return a binding of the inputs, a dictionary of arrays, and of outputs on the same device; and the labels."""
        binding = self.session.io_binding()
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array, *self._device) for array in inputs.values()]
        for name, value in zip(inputs, values):
            binding.bind_ortvalue_input(name, value)
        for output in self.session.get_outputs():
            binding.bind_output(output.name, *self._device)
        return _Bound(binding, values), labels

    def predict(self, inputs: _Bound) -> onnxruntime.IOBinding:
        """Run the forward pass. Return the binding, which has the outputs. Raise BadModel if it fails."""
        try:
            self.session.run_with_iobinding(inputs.binding)
        except _ERRORS as error:
            what = "the forward pass of %s with %s failed: %s" % (self.path, self._shown(), _reason(error))
            raise BadModel(what, last_lines(error)) from error
        return inputs.binding

    def synchronize(self) -> None:
        """Return at once: `predict` returns when its outputs exist, also on a GPU."""

    def to_numpy(self, result: onnxruntime.IOBinding) -> "numpy.ndarray":
        """Return the first output as a float32 array."""
        output: "numpy.ndarray" = result.copy_outputs_to_cpu()[0]
        return output.astype(numpy.float32)

    def learn(self, batches: Sequence[Batch]) -> Any:
        raise Unsupported("ONNX Runtime supports inference only")

    def differentiate(self, batches: Sequence[Batch]) -> Any:
        raise Unsupported("ONNX Runtime supports inference only")

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        raise Unsupported("ONNX models run on synthetic input only")

    def weights(self) -> "List[numpy.ndarray]":
        raise Unsupported("ONNX Runtime supports inference only")

    def gradients(self) -> "List[numpy.ndarray]":
        raise Unsupported("ONNX Runtime supports inference only")

    def remarks(self) -> List[str]:
        return self._remarks

    @property
    def work(self) -> Work:
        parameters = self.problem.parameters
        size = parameters["batch_size"]
        return Work(
            parameter_count=self.parameter_count,
            flops_per_item=self._flops,
            items_per_step=self.problem.items_per_step,
            input_shapes={name: (size, *each.shape) for name, each in self.inputs.items()},
            dtype=parameters["dtype"],
            math_mode="float32" if parameters["dtype"] == "float32" else "pure",
            graph_fingerprint=self._fingerprint,
        )

    def _describe(self, model: onnx.ModelProto) -> None:
        """Set FLOPs and fingerprint. They are those of one item, or of the batch that the graph requires."""
        size = model_inputs.fixed_batch(self._declared) or 1
        known = shapes.inferred(model, {name: (size, *each.shape) for name, each in self.inputs.items()})
        unknown = [name for name in flops.needed(model.graph) if name not in known]
        if unknown:
            feeds = model_inputs.arrays(self._declared, self.inputs, size, Numbers(self.problem.parameters["seed"], 1))
            with suppress(*_ERRORS):  # zeros instead of weights may not be valid; a remark names what is not counted
                known.update(shapes.observed(model, unknown, feeds))
        of_batch, self._remarks = flops.total(model.graph, known)
        self._flops = of_batch // size
        self._fingerprint = fingerprint.fingerprint(model.graph, known)

    def _shown(self) -> str:
        return ", ".join("%s %s" % (name, list(each.shape)) for name, each in self.inputs.items())


def _check_dtype(path: str, model: onnx.ModelProto, dtype: str) -> None:
    """Raise BadModel unless the graph is in the dtype of the case: hpcbench does not convert it."""
    found = model_file.dtype_of(model)
    if found is not None and found != dtype:
        what = "dtype: %s does not match '%s', which has %s; set dtype: %s, or convert the file"
        raise BadModel(what % (dtype, path, found, found))


def _session(path: str, options: onnxruntime.SessionOptions, device: Tuple[str, int]) -> onnxruntime.InferenceSession:
    """Return a session on a device. Raise BadModel if the file cannot be run, and Unsupported without the device."""
    provider: Any = _CPU
    if device[0] == "cuda":
        provider = (_CUDA, {**_OF_CUDA, "device_id": str(device[1])})
        options.add_session_config_entry(_NO_FALLBACK, "1")
    try:
        session = onnxruntime.InferenceSession(path, options, providers=[provider])
    except errors.NotImplemented as error:
        what = "%s has an operator that this build of ONNX Runtime does not implement: %s" % (path, _reason(error))
        raise Unsupported(what) from error
    except _ERRORS as error:
        version, reason = onnxruntime.__version__, _reason(error)
        if _ON_CPU in reason:
            raise Unsupported("%s cannot run entirely on the GPU: %s" % (path, reason)) from error
        hint = _EXPORT if _TOO_NEW.search(reason) else ""
        what = "ONNX Runtime %s cannot load %s: %s%s" % (version, path, reason, hint)
        raise BadModel(what, last_lines(error)) from error
    in_effect = session.get_providers()
    if device[0] == "cuda" and in_effect[0] != _CUDA:
        raise Unsupported("device: gpu requires %s, but ONNX Runtime uses %s" % (_CUDA, ", ".join(in_effect)))
    return session


def _reason(error: Exception) -> str:
    """Return the message of ONNX Runtime in one line, without its origin in the source."""
    return _ORIGIN.sub("", in_one_line(error))


class OnnxRuntime(Adapter):
    """The adapter of ONNX Runtime."""

    name = "onnxruntime"
    libraries = (SupportedLibrary("ONNX Runtime", onnxruntime.__version__, "1.20", "2"),)
    packages = ("onnxruntime", "onnxruntime-gpu", "onnx", "numpy")
    memory_errors = _ERRORS
    memory_words = oom_detection.ONNXRUNTIME
    _session: onnxruntime.InferenceSession

    def __init__(self) -> None:
        self._options = onnxruntime.SessionOptions()

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        """Set the thread counts of the session.

        By default, ONNX Runtime starts a thread per core of the machine and binds each to a core, also outside of the
        CPUs of this process. So without a count, the process gets a thread per core of its CPUs, without binding.
        """
        own_cores = topology.physical_cores(System(hardware.usable_cpus()))
        self._options.intra_op_num_threads = intra_op or own_cores or len(hardware.usable_cpus())
        if inter_op is not None:
            self._options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
            self._options.inter_op_num_threads = inter_op

    def threads(self) -> Dict[str, Any]:
        found = self._session.get_session_options()
        is_parallel = found.execution_mode == onnxruntime.ExecutionMode.ORT_PARALLEL
        return {
            "intra_op": found.intra_op_num_threads,
            "inter_op": found.inter_op_num_threads if is_parallel else 1,
            "by": "SessionOptions.intra_op_num_threads, inter_op_num_threads, execution_mode",
        }

    def settings(self) -> Dict[str, Any]:
        return {"providers": self._session.get_providers()}

    def devices(self) -> List[str]:
        return [gpus.name(index) or "a GPU" for index in range(gpus.count())]  # ONNX Runtime does not name them

    def operators_of(self, problem: Problem) -> OperatorList:
        return operator_list.operators_of(problem)

    def build(self, problem: Problem) -> OnnxNetwork:
        available = onnxruntime.get_available_providers()
        if problem.on_gpu and _CUDA not in available:
            what = (
                "device: gpu requires %s; this build of ONNX Runtime %s has %s; use an environment with onnxruntime-gpu"
            )
            raise Unsupported(what % (_CUDA, onnxruntime.__version__, ", ".join(available)))
        capabilities.check_gpus(problem, self.devices() if problem.on_gpu else [], "ONNX Runtime")
        if not problem.on_gpu:
            capabilities.check_cpu_dtype(problem, ("float32",))  # in 16 bits, most kernels would convert to float32
        network = OnnxNetwork(problem, self._options)
        self._session = network.session
        return network


ADAPTER = OnnxRuntime()
