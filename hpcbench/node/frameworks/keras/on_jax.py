"""Keras 3 on JAX: Keras' layers, dtypes, loss and optimizer, in JAX's compiled step and under its strategy.

After the Keras guide "Writing a custom training loop in JAX".
"""

from typing import Any, Sequence, Tuple

import jax
import keras
from jax import numpy as jnp

from ....models.optimizers import Optimizer as Options
from ...workload.problem import Problem
from ..jax.network import JaxNetwork, Model, Optimizer
from ..jax.strategies import Arrays
from . import layers, losses, optimizers


class KerasJaxNetwork(JaxNetwork):
    """A network of Keras layers in JAX's compiled step."""

    def model_of(self, problem: Problem) -> Model:
        model = layers.model_of(problem)
        self._variables = model.trainable_variables
        return pure(model)

    def optimizer_of(self, problem: Problem, weights: Arrays) -> Optimizer:
        return optimizer_of(problem.optimizer, self._variables)

    def loss(self, outputs: Any, labels: jax.Array) -> jax.Array:
        return losses.cross_entropy(outputs.astype(jnp.float32), labels)


def pure(model: keras.Model) -> Model:
    """Return a model, whose weights exist, for training and inference."""

    def apply(weights: Arrays, rest: Arrays, inputs: Any, training: bool) -> Tuple[Any, Arrays]:
        return model.stateless_call(weights, rest, inputs, training=training)

    return Model(_values(model.trainable_variables), _values(model.non_trainable_variables), apply)


def optimizer_of(options: Options, variables: Sequence[Any]) -> Optimizer:
    """Return the optimizer for the values of these variables."""
    optimizer = optimizers.keras_optimizer(options)
    optimizer.build(variables)

    def update(weights: Arrays, state: Any, gradients: Arrays) -> Tuple[Arrays, Any]:
        return optimizer.stateless_apply(state, optimizers.prepared(options, gradients, weights), weights)

    return Optimizer(_values(optimizer.variables), update)


def _values(variables: Any) -> Arrays:
    return [variable.value for variable in variables]
