"""Flax modules of the user: nnx or linen, trained by Optax."""

import inspect
from typing import Any, Tuple

import jax
import optax
from flax import linen, nnx
from jax import numpy as jnp

from .....models.losses import BINARY_CROSS_ENTROPY, CROSS_ENTROPY, L1, MSE
from ....workload import user_code
from ....workload.problem import Problem
from ...external.building import built
from ...external.trace import Trace
from .. import pure
from ..network import Model, Optimizer
from ..optimizers import optimizer_of
from ..strategies import Arrays
from .network import ExternalJaxNetwork, in_dtype
from .trace import trace

LOSSES = {
    CROSS_ENTROPY: lambda output, labels: optax.softmax_cross_entropy_with_integer_labels(output, labels).mean(),
    MSE: lambda output, targets: jnp.square(output - targets).mean(),
    L1: lambda output, targets: jnp.abs(output - targets).mean(),
    BINARY_CROSS_ENTROPY: lambda output, targets: optax.sigmoid_binary_cross_entropy(output, targets).mean(),
}


class ExternalFlaxNetwork(ExternalJaxNetwork):
    """A Flax module that the user's function returns."""

    losses = LOSSES

    def model_of(self, problem: Problem) -> Model:
        module = _module(problem)
        model: Any = None

        def traced(item: Any, shown: str) -> Trace:
            nonlocal model
            model = self._pure(module, item)
            self._check(self._in_dtype(model), item)
            return trace(shown, model, item)

        self.describe({}, traced)
        self.prepare_loss()
        return self._in_dtype(model)

    def optimizer_of(self, problem: Problem, weights: Arrays) -> Optimizer:
        return optimizer_of(problem.optimizer, weights)

    def _pure(self, module: Any, item: Any) -> Model:
        """Return the module with its weights in float32, whatever their dtype is."""
        seed = self.problem.parameters["seed"]
        if isinstance(module, nnx.Module):
            model = pure.of_nnx(module)
        else:
            model = pure.of_linen(module, item, seed, seed + self.problem.group.rank)
        return model._replace(weights=in_dtype(model.weights, jnp.float32))

    def _in_dtype(self, model: Model) -> Model:
        """Return the model in the dtype of the case: in training, weights remain float32 and are cast in each step."""
        if self.dtype == jnp.float32:
            return model
        if not self.problem.training:
            return model._replace(weights=in_dtype(model.weights, self.dtype), rest=in_dtype(model.rest, self.dtype))

        def apply(weights: Arrays, rest: Arrays, inputs: Any, training: bool) -> Tuple[Any, Arrays]:
            outputs, new = model.apply(in_dtype(weights, self.dtype), rest, in_dtype(inputs, self.dtype), training)
            return outputs, [in_dtype(each, old.dtype) for each, old in zip(new, rest)]

        return model._replace(apply=apply)

    def _check(self, model: Model, item: Any) -> None:
        """Trace a model in the task and dtype of the case: dropout may lack random numbers, and a loop mix dtypes."""
        training = self.problem.training
        inputs = item if training else in_dtype(item, self.dtype)
        jax.eval_shape(lambda *arrays: model.apply(arrays[0], arrays[1], inputs, training), model.weights, model.rest)


def _module(problem: Problem) -> Any:
    """Return the module of the user's function, which may take `rngs`, the random numbers of nnx."""
    parameters = problem.parameters
    options = dict(parameters["model_options"])
    function = user_code.function(parameters["model"], "model")
    if "rngs" in inspect.signature(function).parameters:
        seed = parameters["seed"]
        options["rngs"] = nnx.Rngs(seed + problem.group.rank, params=seed)  # the same weights on all ranks
    return built(
        parameters["model"], lambda: function(**options), (nnx.Module, linen.Module), "Flax module (nnx or linen)"
    )
