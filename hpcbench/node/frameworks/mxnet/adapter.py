"""MXNet's Gluon, hybridized to a graph or eager, with one process or several."""

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Sequence

import numpy

from ....core.frameworks import BACKWARD, GRAPH
from ....core.record import Work
from ....models import blocks, layers
from ... import oom_detection
from ...errors import Unsupported
from ...host import gpus
from ...workload.data import Items
from ...workload.problem import Problem
from .. import capabilities
from ..adapter import Adapter, Batch, Network
from ..computation import Computation
from ..supported_library import SupportedLibrary

try:
    import mxnet as mx
    from mxnet import autograd, gluon
    from mxnet.contrib import amp
except AttributeError as error:  # MXNet's last release uses names that NumPy 1.24 has removed
    advice = "install numpy 1.23.5 there, as `hpcbench env build mxnet` does"
    told = (numpy.__version__, str(error).splitlines()[0], advice)
    raise Unsupported("MXNet does not import with NumPy %s (%s): %s" % told) from error

from . import data, strategies
from .devices import NO_PEAK_MEMORY, device_of
from .layers import sequential
from .operators import MXNetOperator
from .threads import in_effect

Tensor = Any

_FLOAT32_ALONE = (layers.Lstm, blocks.EncoderLayer)
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MXNET_CPU_WORKER_NTHREADS",
)  # read at import: core/variables/worker.py


class MXNetNetwork(Network):
    """A network of Gluon blocks."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.device = device_of(problem)
        self.graph = problem.parameters["execution"] == GRAPH
        numpy.random.seed(problem.parameters["seed"] + problem.group.rank)  # of shuffling
        mx.random.seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
        self.model: Any = sequential(problem.layers, problem.item_shape, problem.weights())
        parameters = self.model.collect_params()
        parameters.reset_ctx(self.device)
        self.trained = [each for each in parameters.values() if each.grad_req != "null"]
        self.parameter_count = sum(int(numpy.prod(parameter.shape)) for parameter in self.trained)
        if problem.batches_per_step > 1:
            self._accumulate_gradients()
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        if self.graph:
            self._hybridize(self.model)
            self._hybridize(self.loss)
        self._set_dtype(problem)
        updates = problem.training and problem.parameters["task"] != BACKWARD
        self.parallel = strategies.parallel(parameters, problem) if updates else None
        self.feed()

    def predict(self, inputs: Tensor) -> Tensor:
        return self.model(inputs)

    def learn(self, batches: Sequence[Batch]) -> Tensor:
        loss = self.differentiate(batches)
        assert self.parallel  # noqa: S101 - training has a strategy
        self.parallel.update()
        return loss

    def differentiate(self, batches: Sequence[Batch]) -> Tensor:
        if len(batches) > 1:
            self._zero_gradients()
        losses = []
        for inputs, labels in batches:
            with autograd.record():
                loss = self.loss(self.model(inputs), labels).mean()
                loss = loss if len(batches) == 1 else loss / len(batches)
            loss.backward()
            losses.append(loss)
        return sum(losses[1:], losses[0])

    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        return self._moved(mx.nd.array(inputs, dtype=inputs.dtype), mx.nd.array(labels, dtype=labels.dtype))

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        return (self._moved(*batch) for batch in data.batches(self.problem, items, forever))

    def _moved(self, inputs: Tensor, labels: Tensor) -> Batch:
        if self.problem.parameters["dtype"] == "float16" and inputs.dtype == numpy.float32:
            inputs = inputs.astype("float16")
        return inputs.as_in_context(self.device), labels.as_in_context(self.device)

    def synchronize(self) -> None:
        mx.nd.waitall()

    def to_numpy(self, result: Tensor) -> "numpy.ndarray":
        return result.astype("float32").asnumpy()

    @contextmanager
    def common_weights(self) -> Iterator[None]:
        if self.parallel:
            self.parallel.agree()
        yield

    def weights(self) -> "Iterator[numpy.ndarray]":
        with self.common_weights():
            return (parameter.data().asnumpy() for parameter in self.trained)

    def gradients(self) -> "Iterator[numpy.ndarray]":
        return (parameter.grad().asnumpy() for parameter in self.trained)

    def remarks(self) -> List[str]:
        return [NO_PEAK_MEMORY] if self.problem.on_gpu else []

    def close(self) -> None:
        if self.parallel:
            self.parallel.leave()

    @property
    def work(self) -> Work:
        """Return the work of one step. MXNet's bfloat16 is mixed precision: sums and norms stay in float32."""
        work = super().work
        return replace(work, math_mode="autocast") if work.dtype == "bfloat16" else work

    def _accumulate_gradients(self) -> None:
        for parameter in self.trained:
            parameter.grad_req = "add"

    def _zero_gradients(self) -> None:
        for parameter in self.trained:
            parameter.zero_grad()

    def _hybridize(self, block: Any) -> None:
        block.hybridize(static_alloc=True, static_shape=True)

    def _set_dtype(self, problem: Problem) -> None:
        dtype = problem.parameters["dtype"]
        if dtype == "float16":
            self.model.cast(dtype)
        elif dtype == "bfloat16" and self.graph and not problem.training:
            self.model(self.on_device(*problem.batch())[0])  # creates the graph that is converted, with its weights
            self.model = amp.convert_hybrid_block(
                self.model, target_dtype=dtype, ctx=self.device, cast_optional_params=True
            )
            self._hybridize(self.model)
        elif dtype == "bfloat16":
            amp.init(dtype)  # for the whole process


class MXNet(Adapter):
    """The adapter of MXNet."""

    name = "mxnet"
    libraries = (SupportedLibrary("MXNet", mx.__version__, "1.6", "2"),)
    packages = ("mxnet", "mxnet-cu112", "mxnet-cu110", "mxnet-cu102", "numpy", "horovod")
    network = MXNetNetwork
    operator = MXNetOperator
    memory_errors = (mx.MXNetError,)
    memory_words = oom_detection.MXNET

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        for variable, threads in zip(_THREAD_VARIABLES, (intra_op, inter_op)):
            if threads is not None and os.environ.get(variable) != str(threads):
                raise Unsupported(
                    "MXNet reads its number of threads from %s, which must be set before it starts" % variable
                )

    def threads(self) -> Dict[str, Any]:
        return {**in_effect(), "by": ", ".join(_THREAD_VARIABLES)}

    def settings(self) -> Dict[str, Any]:
        built: bool = mx.runtime.Features().is_enabled("MKLDNN")
        return {"onednn": built and os.environ.get("MXNET_MKLDNN_ENABLED", "1") != "0"}

    def devices(self) -> List[str]:
        return [gpus.name(index) or "a GPU" for index in range(mx.context.num_gpus())]  # MXNet does not name them

    def build(self, problem: Problem) -> Computation:
        built = "" if mx.runtime.Features().is_enabled("CUDA") else " (built for the CPU only)"
        visible = self.devices() if problem.on_gpu else []
        capabilities.check_gpus(problem, visible, "MXNet %s%s" % (mx.__version__, built))
        _check_dtype(problem)
        return self.computation_of(problem)


def _check_dtype(problem: Problem) -> None:
    dtype = problem.parameters["dtype"]
    if problem.on_gpu:
        if dtype == "bfloat16":
            raise Unsupported("MXNet computes in bfloat16 on CPUs alone")
        capabilities.refuse_unscaled_float16(problem)
        return
    capabilities.check_cpu_dtype(problem, ("float32", "bfloat16"))
    if dtype == "bfloat16" and not hasattr(amp.amp, "bfloat16"):
        raise Unsupported("bfloat16 needs MXNet 1.7 or newer, and this is %s" % mx.__version__)
    if dtype == "bfloat16" and any(isinstance(layer, _FLOAT32_ALONE) for layer in problem.layers):
        raise Unsupported("MXNet's LSTM and attention have no bfloat16 arithmetic")


ADAPTER = MXNet()
