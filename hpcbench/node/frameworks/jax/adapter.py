"""JAX with Flax and Optax."""

from typing import Any

import jax
import optax
from flax import nnx
from jax import numpy as jnp

from ...workload.problem import Problem
from . import layers, operator_functions, pure
from .external.flax_network import ExternalFlaxNetwork
from .network import JAX, JaxAdapter, JaxNetwork, Model, Optimizer
from .operators import JaxOperator
from .optimizers import optimizer_of
from .strategies import Arrays


class FlaxNetwork(JaxNetwork):
    """A network of Flax layers, trained by Optax."""

    def model_of(self, problem: Problem) -> Model:
        weights_dtype = jnp.float32 if problem.training else self.dtype
        rngs = nnx.Rngs(problem.parameters["seed"] + problem.group.rank)  # of dropout
        common = {"dtype": self.dtype, "param_dtype": weights_dtype, "rngs": rngs}
        return pure.of_nnx(layers.sequential(problem.layers, problem.item_shape, problem.weights(), common))

    def optimizer_of(self, problem: Problem, weights: Arrays) -> Optimizer:
        return optimizer_of(problem.optimizer, weights)

    def loss(self, outputs: Any, labels: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(outputs.astype(jnp.float32), labels).mean()


class FlaxOperator(JaxOperator):
    """An operator of JAX, Flax or Optax."""

    functions = operator_functions.FUNCTIONS
    states = operator_functions.STATES
    without_float64 = operator_functions.WITHOUT_FLOAT64


class Jax(JaxAdapter):
    """The adapter of JAX."""

    name = "jax"
    packages = ("jax", "jaxlib", "flax", "optax", "grain", "numpy")
    libraries = (JAX,)
    network = FlaxNetwork
    external = ExternalFlaxNetwork
    operator = FlaxOperator


ADAPTER = Jax()
