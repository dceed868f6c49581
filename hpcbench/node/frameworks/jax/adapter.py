"""JAX with Flax and Optax."""

from typing import Tuple

import jax
import optax
from flax import nnx
from jax import numpy as jnp

from ...workload.problem import Problem
from . import layers
from .network import JAX, JaxAdapter, JaxNetwork, Model, Optimizer
from .optimizers import optimizer_of
from .strategies import Arrays


class FlaxNetwork(JaxNetwork):
    """A network of Flax layers, trained by Optax."""

    def model_of(self, problem: Problem) -> Model:
        weights_dtype = jnp.float32 if problem.training else self.dtype
        rngs = nnx.Rngs(problem.parameters["seed"] + problem.group.rank)  # of dropout
        common = {"dtype": self.dtype, "param_dtype": weights_dtype, "rngs": rngs}
        return _pure(layers.sequential(problem.layers, problem.item_shape, problem.weights(), common))

    def optimizer_of(self, problem: Problem, weights: Arrays) -> Optimizer:
        return optimizer_of(problem.optimizer, weights)

    def losses(self, logits: jax.Array, labels: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels)


def _pure(module: nnx.Module) -> Model:
    """Return a module's arrays, and a pure function of them for training and inference."""
    graphs = {}
    for training in (False, True):
        module.train() if training else module.eval()
        graphs[training], weights, rest = nnx.split(module, nnx.Param, ...)
    weight_arrays, weight_tree = jax.tree.flatten(weights)
    rest_arrays, rest_tree = jax.tree.flatten(rest)

    def apply(weights: Arrays, rest: Arrays, inputs: jax.Array, training: bool) -> Tuple[jax.Array, Arrays]:
        states = (jax.tree.unflatten(weight_tree, weights), jax.tree.unflatten(rest_tree, rest))
        merged = nnx.merge(graphs[training], *states)
        logits = merged(inputs)
        return logits, jax.tree.leaves(nnx.split(merged, nnx.Param, ...)[2])

    return Model(weight_arrays, rest_arrays, apply)


class Jax(JaxAdapter):
    """The adapter of JAX."""

    name = "jax"
    packages = ("jax", "jaxlib", "flax", "optax", "grain", "numpy")
    libraries = (JAX,)
    network = FlaxNetwork


ADAPTER = Jax()
