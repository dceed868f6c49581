"""The common code of networks on JAX: each step is one function, compiled by XLA.

Weights and batch are arguments of that function, so that XLA cannot compute with them at compile time.
"""

from abc import abstractmethod
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import jax
import numpy
from jax import numpy as jnp

from ....core.frameworks import BACKWARD
from ... import oom_detection
from ...errors import Unsupported
from ...workload.data import Items
from ...workload.problem import Problem, channels_last
from .. import capabilities
from ..adapter import Adapter, Batch, Network
from ..computation import Computation
from ..supported_library import SupportedLibrary
from . import data, strategies
from .devices import choose_gpu, multiplies_in, pool_size, restrict_cpus
from .strategies import Arrays

JAX = SupportedLibrary("JAX", jax.__version__, "0.6.2", "1")  # the oldest version that was tested
_DTYPES = {"float32": jnp.float32, "bfloat16": jnp.bfloat16, "float16": jnp.float16}
_ON_CPU = ("float32", "bfloat16")


class Model(NamedTuple):
    """A network as arrays and a pure function of them, (weights, rest, inputs, training) -> (outputs, rest)."""

    weights: Arrays  # trained
    rest: Arrays  # running statistics, and the state of random numbers
    apply: Callable[[Arrays, Arrays, Any, bool], Tuple[Any, Arrays]]


Update = Callable[[Arrays, Any, Arrays], Tuple[Arrays, Any]]
"""(weights, state, gradients) -> (weights, state)"""


class Optimizer(NamedTuple):
    """The state of an optimizer, and its update of weights and state."""

    state: Any
    update: Update


class JaxNetwork(Network):
    """A network on JAX, of any layer library."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.dtype = _DTYPES[problem.parameters["dtype"]]
        set_arithmetic(problem)
        self.strategy = strategies.strategy(problem)
        model = self.model_of(problem)
        self.parameter_count = sum(weight.size for weight in model.weights)
        self._weights = self.strategy.shared(model.weights)
        self._rest = self.strategy.own(model.rest)
        if problem.training:
            self._differentiate = self.strategy.training(self._training_step(model, _keep))
            self._gradients: Arrays = []
        if problem.training and problem.parameters["task"] != BACKWARD:
            optimizer = self.optimizer_of(problem, model.weights)
            self._state = self.strategy.shared(optimizer.state)
            self._learn = self.strategy.training(self._training_step(model, optimizer.update))
        self._predict = self.strategy.inference(self._inference_step(model))
        self._unfinished: List[Any] = []
        self.feed()

    @abstractmethod
    def model_of(self, problem: Problem) -> Model:
        """Return the network of a case with its initial weights."""

    @abstractmethod
    def optimizer_of(self, problem: Problem, weights: Arrays) -> Optimizer:
        """Return the optimizer of a case."""

    @abstractmethod
    def loss(self, outputs: Any, labels: jax.Array) -> jax.Array:
        """Return the mean loss of a batch; for logits (batch, [time,] classes), the softmax cross-entropy."""

    def output(self, outputs: Any) -> jax.Array:
        """Return the logits, from what the model returned."""
        logits: jax.Array = outputs
        return logits

    def _training_step(self, model: Model, update: Update) -> Callable[..., Any]:
        def loss_of(weights: Arrays, rest: Arrays, inputs: Any, labels: jax.Array) -> Tuple[jax.Array, Arrays]:
            outputs, rest = model.apply(weights, rest, inputs, True)
            return self.loss(outputs, labels), rest

        gradients_of = jax.value_and_grad(loss_of, has_aux=True)

        def mean_of(weights: Arrays, rest: Arrays, batches: Sequence[Batch]) -> Any:
            """Return loss, rest and mean gradients; batches are computed one after the other."""
            if len(batches) == 1:
                return gradients_of(weights, rest, *batches[0])

            def add(sums: Any, batch: Batch) -> Any:
                (loss, rest), gradients = gradients_of(weights, sums[1], *batch)
                return (jax.tree.map(jnp.add, sums[0], gradients), rest), loss

            stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *batches)
            sums = jax.tree.map(jnp.zeros_like, weights)
            (gradients, rest), losses = jax.lax.scan(add, (sums, rest), stacked)
            return (losses.mean(), rest), jax.tree.map(lambda each: each / len(batches), gradients)

        def step(weights: Arrays, state: Any, rest: Arrays, batches: Sequence[Batch]) -> Any:
            (loss, rest), gradients = mean_of(weights, rest, batches)
            weights, state = update(weights, state, self.strategy.mean(gradients))
            return weights, state, rest, loss

        return step

    def _inference_step(self, model: Model) -> Callable[..., jax.Array]:
        return lambda weights, rest, inputs: self.output(model.apply(weights, rest, inputs, False)[0])

    def fetch(self) -> Batch:
        batch = super().fetch()
        self._unfinished.append(batch)
        return batch

    def predict(self, inputs: Any) -> jax.Array:
        logits = self._predict(self._weights, self._rest, inputs)
        self._unfinished.append(logits)
        return logits

    def learn(self, batches: Sequence[Batch]) -> jax.Array:
        state = (self._weights, self._state, self._rest)
        self._weights, self._state, self._rest, loss = self._learn(*state, list(batches))
        self._unfinished.append(loss)
        return loss

    def differentiate(self, batches: Sequence[Batch]) -> jax.Array:
        if not self._gradients:
            zeros = [jnp.zeros(each.shape, each.dtype) for each in self._weights]
            self._gradients = self.strategy.shared(zeros)
        state = (self._weights, self._gradients, self._rest)
        self._weights, self._gradients, self._rest, loss = self._differentiate(*state, list(batches))
        self._unfinished.append(loss)
        return loss

    def gradients(self) -> "Iterator[numpy.ndarray]":
        return map(self.to_numpy, self._gradients)

    def on_device(self, inputs: "numpy.ndarray", labels: "numpy.ndarray") -> Batch:
        inputs = channels_last(inputs)
        if inputs.dtype.kind == "f" and not self.problem.training:
            inputs = inputs.astype(self.dtype)
        return self.strategy.batch(inputs), self.strategy.batch(labels)

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        return (self.on_device(*batch) for batch in data.batches(self.problem, items, forever))

    def synchronize(self) -> None:
        jax.block_until_ready((self._unfinished, self._weights))
        self._unfinished.clear()

    def to_numpy(self, result: jax.Array) -> "numpy.ndarray":
        return numpy.asarray(result.addressable_data(0)).astype(numpy.float32)

    def weights(self) -> "Iterator[numpy.ndarray]":
        return map(self.to_numpy, self._weights)

    def remarks(self) -> List[str]:
        return remarks_on(self.problem.parameters["dtype"])

    def peak_device_bytes(self) -> Optional[int]:
        statistics = self.strategy.device.memory_stats() if self.problem.on_gpu else None
        return statistics and statistics.get("peak_bytes_in_use")

    def close(self) -> None:
        strategies.leave()


def _keep(weights: Arrays, state: Arrays, gradients: Arrays) -> Tuple[Arrays, Arrays]:
    """Keep the weights, instead of an optimizer. The state becomes the gradients: XLA cannot drop them."""
    return weights, gradients


def remarks_on(dtype: str) -> List[str]:
    """Return remarks on products in this dtype."""
    if dtype == "float32" or multiplies_in(_DTYPES[dtype]):
        return []
    return ["XLA turns %s into float32 here for every product" % dtype]


def set_arithmetic(problem: Problem) -> None:
    """Set the arithmetic of float32: GPUs would round the factors to TF32 (10 bits). User code may have changed it."""
    if problem.parameters["dtype"] == "float32":
        jax.config.update("jax_default_matmul_precision", "float32")


class JaxAdapter(Adapter):
    """An adapter for networks on JAX; subclasses name the class of the network."""

    memory_errors = (jax.errors.JaxRuntimeError,)
    memory_words = oom_detection.JAX

    def set_threads(self, intra_op: Optional[int], inter_op: Optional[int]) -> None:
        if inter_op is not None:
            raise Unsupported("JAX has no setting for inter_op_threads")
        restrict_cpus(intra_op)

    def threads(self) -> Dict[str, Any]:
        by = "CPU affinity, for JAX has no setting; the threads of XLA's pool were counted"
        return {"intra_op": pool_size(), "inter_op": None, "by": by}

    def devices(self) -> List[str]:
        return [device.device_kind for device in jax.local_devices() if device.platform == "gpu"]

    def build(self, problem: Problem) -> Computation:
        if problem.on_gpu:
            choose_gpu(problem)
        else:
            capabilities.check_cpu_dtype(problem, _ON_CPU)
        capabilities.refuse_unscaled_float16(problem)
        return self.computation_of(problem)
