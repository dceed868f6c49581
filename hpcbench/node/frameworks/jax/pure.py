"""Modules of Flax as arrays and a pure function of them."""

import inspect
from typing import Any, Dict, Tuple

import jax
from flax import linen, nnx

from .network import Model
from .strategies import Arrays

# Arguments of a linen module's call by which it learns whether it trains; the value is for training.
_MODES = {"train": True, "training": True, "is_training": True, "deterministic": False, "use_running_average": False}


def of_nnx(module: nnx.Module) -> Model:
    """Return an nnx module for training and inference."""
    graphs = {}
    for training in (False, True):
        module.train() if training else module.eval()
        graphs[training], weights, rest = nnx.split(module, nnx.Param, ...)
    weight_arrays, weight_tree = jax.tree.flatten(weights)
    rest_arrays, rest_tree = jax.tree.flatten(rest)

    def apply(weights: Arrays, rest: Arrays, inputs: Any, training: bool) -> Tuple[Any, Arrays]:
        states = (jax.tree.unflatten(weight_tree, weights), jax.tree.unflatten(rest_tree, rest))
        merged = nnx.merge(graphs[training], *states)
        outputs = merged(**inputs) if isinstance(inputs, dict) else merged(inputs)
        return outputs, jax.tree.leaves(nnx.split(merged, nnx.Param, ...)[2])

    return Model(weight_arrays, rest_arrays, apply)


def of_linen(module: linen.Module, item: Any, seed: int, own_seed: int) -> Model:
    """Return a linen module for training and inference. Its weights get their shapes from the inputs of one item.

    `seed` is that of the weights, and `own_seed` that of all other random numbers.
    """
    given = inspect.signature(type(module).__call__).parameters
    modes = {name: value for name, value in _MODES.items() if name in given}

    def call(function: Any, inputs: Any, training: bool, **named: Any) -> Any:
        named.update({name: value == training for name, value in modes.items()})
        return function(**inputs, **named) if isinstance(inputs, dict) else function(inputs, **named)

    def variables_of(key: jax.Array, inputs: Any) -> Any:
        return call(lambda *words, **named: module.init(key, *words, **named), inputs, False)

    collections = dict(jax.jit(variables_of)(jax.random.key(seed), item))
    weight_arrays, weight_tree = jax.tree.flatten(collections.pop("params", {}))
    rest_arrays, rest_tree = jax.tree.flatten((collections, jax.random.key(own_seed)))

    def apply(weights: Arrays, rest: Arrays, inputs: Any, training: bool) -> Tuple[Any, Arrays]:
        state: Dict[str, Any]
        state, key = jax.tree.unflatten(rest_tree, rest)
        variables = {"params": jax.tree.unflatten(weight_tree, weights), **state}

        def run(*words: Any, **named: Any) -> Any:
            if not training:
                return module.apply(variables, *words, **named), state
            # Flax draws from the stream `params` the numbers of all streams that are not given.
            return module.apply(variables, *words, rngs={"params": draw}, mutable=list(state), **named)

        key, draw = jax.random.split(key) if training else (key, key)
        outputs, state = call(run, inputs, training)
        return outputs, jax.tree.leaves((state, key))

    return Model(weight_arrays, rest_arrays, apply)
