"""TensorFlow, as a graph, eager, or compiled by XLA, with one process or several, on CPU and GPU."""

import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type

import numpy
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port  # no public API shows whether oneDNN is on

from ....core.frameworks import BACKWARD, COMPILED, EAGER
from ....models import layers
from ... import oom_detection
from ...host import hardware
from ...workload.data import Items
from ...workload.problem import Problem, channels_last
from .. import capabilities
from ..adapter import Adapter, Batch, Network
from ..computation import Computation
from ..operator_call import OperatorCall
from ..supported_library import SupportedLibrary
from . import data, optimizers, strategies
from .dense import Formats
from .layers import sequential
from .operators import TensorFlowOperator
from .settings import DTYPES, check_places, choose_gpu, details, function, gpus, set_arithmetic

Tensor = Any


class TensorFlowNetwork(Network):
    """A network of TensorFlow operations.

    A subclass may have another model (callable with a batch and `training`, with `trainable_variables`) and another
    optimizer (with the `apply` of optimizers.Updates).
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        choose_gpu(problem)
        self.dtype = DTYPES[problem.parameters["dtype"]]
        set_arithmetic()
        self.parallel = strategies.parallel(problem)
        tf.random.set_seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        with self.parallel.scope():
            self.model = self.model_of(problem)
            self.trained = list(self.model.trainable_variables)
            updates = problem.training and problem.parameters["task"] != BACKWARD
            self.optimizer: Any = self.optimizer_of(problem, self.trained) if updates else None
        if problem.on_gpu:
            check_places(self.trained)
        self.parameter_count = sum(int(numpy.prod(variable.shape)) for variable in self.trained)
        self._set_execution(problem)
        self.feed()
        if problem.on_gpu:
            tf.config.experimental.reset_memory_stats("GPU:0")

    def model_of(self, problem: Problem) -> Any:
        """Return the model of a case with its initial weights."""
        formats = Formats(tf.float32 if problem.training else self.dtype, self.dtype)
        return sequential(problem.layers, problem.item_shape, problem.weights(), formats)

    def optimizer_of(self, problem: Problem, variables: Sequence[tf.Variable]) -> Any:
        """Return the optimizer for `variables`."""
        return optimizers.Updates(problem.optimizer, variables)

    def output(self, inputs: Tensor) -> Tensor:
        """Return the logits, (batch, classes), of a batch on the device."""
        return self.model(inputs, False)

    def loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a batch on the device: the mean cross entropy."""
        logits = tf.cast(self.model(inputs, True), tf.float32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    def predict(self, inputs: Tensor) -> Tensor:
        return self._predict(inputs)

    def learn(self, batches: Sequence[Batch]) -> Tensor:
        return self._learn(batches)

    def differentiate(self, batches: Sequence[Batch]) -> Tensor:
        loss, self._found = self._differentiate(batches)
        return loss

    def gradients(self) -> "Iterator[numpy.ndarray]":
        return map(self.to_numpy, self._found)

    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        return data.in_format(tf.constant(channels_last(inputs)), tf.constant(labels), self.dtype)

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        return iter(data.batches(self.problem, items, forever, self.dtype))

    def synchronize(self) -> None:
        if self.problem.on_gpu:
            tf.test.experimental.sync_devices()

    def to_numpy(self, result: Tensor) -> "numpy.ndarray":
        return tf.cast(result, tf.float32).numpy()

    def weights(self) -> "Iterator[numpy.ndarray]":
        return (variable.numpy() for variable in self.trained)

    def peak_device_bytes(self) -> Optional[int]:
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) if self.problem.on_gpu else None

    def remarks(self) -> List[str]:
        if self.problem.on_gpu and any(isinstance(layer, layers.Lstm) for layer in self.problem.layers):
            return ["the LSTM runs step by step, not in cuDNN"]
        return []

    def close(self) -> None:
        self.parallel.leave()

    def _set_execution(self, problem: Problem) -> None:
        """Compile a whole step by XLA; with several ranks, compile the part before gradients are exchanged."""
        execution = problem.parameters["execution"]
        compiled = execution == COMPILED
        self._predict, self._gradients = self._logits_of_a_rank, self._own_gradients
        self._learn, self._differentiate = self._of_a_rank(self._step), self._of_a_rank(self._averaged)
        if execution != EAGER:
            self._predict = function(self._predict, compiled)
            self._learn = function(self._learn, compiled and not problem.parallel)
            self._differentiate = function(self._differentiate, compiled and not problem.parallel)
        if compiled and problem.parallel:
            self._gradients = function(self._gradients, compiled)

    def _logits_of_a_rank(self, inputs: Tensor) -> Tensor:
        return self.parallel.run(self.output, (inputs,))

    def _of_a_rank(self, step: Callable[[Sequence[Batch]], Any]) -> Callable[[Sequence[Batch]], Any]:
        return lambda batches: self.parallel.run(step, (batches,))

    def _step(self, batches: Sequence[Batch]) -> Tensor:
        loss, gradients = self._averaged(batches)
        self.optimizer.apply(gradients, self.trained)
        return loss

    def _averaged(self, batches: Sequence[Batch]) -> Tuple[Tensor, List[Tensor]]:
        """Return the mean loss of this rank's batches, and the mean gradients over all ranks."""
        loss, gradients = self._gradients(*batches[0])
        for inputs, labels in batches[1:]:
            with tf.control_dependencies(gradients):  # one batch after the other
                other, more = self._gradients(inputs, labels)
                loss, gradients = loss + other, [one + each for one, each in zip(gradients, more)]
        if len(batches) > 1:
            loss, gradients = loss / len(batches), [each / len(batches) for each in gradients]
        return loss, self.parallel.average(gradients)

    def _own_gradients(self, inputs: Tensor, labels: Tensor) -> Tuple[Tensor, List[Tensor]]:
        """Return the loss of this rank's batch, and its gradient with respect to each weight."""
        with tf.GradientTape() as tape:
            loss = self.loss(inputs, labels)
        gradients = tape.gradient(loss, self.trained)
        return loss, [_dense(gradient, weight) for gradient, weight in zip(gradients, self.trained)]


def _dense(gradient: Any, weight: Any) -> Tensor:
    """Return the gradient of a weight as a tensor, of zeros if the loss of a user's model does not depend on it.

    That of an embedding has only the rows in use, but momentum also moves the others.
    """
    return tf.zeros(weight.shape, weight.dtype) if gradient is None else tf.convert_to_tensor(gradient)


class TensorFlow(Adapter):
    """The adapter of TensorFlow."""

    name = "tensorflow"
    packages: Tuple[str, ...] = ("tensorflow", "tensorflow-cpu", "numpy", "keras", "horovod")
    libraries: Tuple[SupportedLibrary, ...] = (SupportedLibrary("TensorFlow", tf.__version__, "2.12", "3"),)
    network: Type[TensorFlowNetwork] = TensorFlowNetwork
    operator: Optional[Type[OperatorCall]] = TensorFlowOperator
    # From TensorFlow's own allocators, and from XLA, which wraps them in errors of other types.
    memory_errors = (tf.errors.OpError,)
    memory_words = oom_detection.TENSORFLOW

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        if intra_op is not None:
            tf.config.threading.set_intra_op_parallelism_threads(intra_op)
        if inter_op is not None:
            tf.config.threading.set_inter_op_parallelism_threads(inter_op)

    def threads(self) -> Dict[str, Any]:
        return {
            "intra_op": _effective(tf.config.threading.get_intra_op_parallelism_threads(), "TF_NUM_INTRAOP_THREADS"),
            "inter_op": _effective(tf.config.threading.get_inter_op_parallelism_threads(), "TF_NUM_INTEROP_THREADS"),
            "by": "tf.config.threading",
        }

    def settings(self) -> Dict[str, Any]:
        return {"onednn": bool(_pywrap_util_port.IsMklEnabled())}

    def devices(self) -> List[str]:
        return [str(details(gpu).get("device_name", gpu.name)) for gpu in gpus()]

    def build(self, problem: Problem) -> Computation:
        built = "" if tf.test.is_built_with_gpu_support() else " (built for the CPU only)"
        visible = self.devices() if problem.on_gpu else []
        capabilities.check_gpus(problem, visible, "TensorFlow %s%s" % (tf.__version__, built))
        _check_dtype(problem)
        return self.computation_of(problem)


def _effective(configured: int, variable: str) -> int:
    """Return the thread count; 0 stands for that of the environment variable, otherwise for one per usable CPU."""
    return configured or int(os.environ.get(variable) or 0) or len(hardware.usable_cpus())


def _check_dtype(problem: Problem) -> None:
    capabilities.refuse_unscaled_float16(problem)
    if not problem.on_gpu:
        capabilities.check_cpu_dtype(problem, tuple(DTYPES))
        return
    gpu = details(gpus()[capabilities.own_gpu(problem, len(gpus()))])
    capabilities.check_gpu_dtype(problem, gpu.get("compute_capability"), gpu.get("device_name", "this GPU"))


ADAPTER = TensorFlow()
