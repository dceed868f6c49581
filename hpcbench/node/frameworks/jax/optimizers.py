"""The optimizers of a case in JAX: those of Optax, and AdaGrad, whose eps Optax adds within the root."""

from typing import Any, Callable, Dict, List, Tuple

import jax
import numpy
import optax
from jax import numpy as jnp

from ....models import optimizers
from ....models.optimizers import NORM_EPS
from ....models.optimizers import Optimizer as Options
from .network import Optimizer
from .strategies import Arrays


def optimizer_of(options: Options, weights: Arrays) -> Optimizer:
    """Return the optimizer for these weights."""
    chain: List[optax.GradientTransformation] = []
    if options.clip_norm is not None:
        chain.append(optax.stateless(lambda gradients, _: _clipped(gradients, options.clip_norm)))
    if options.clip_value is not None:
        chain.append(optax.clip(options.clip_value))
    if options.l2_penalty:
        chain.append(optax.add_decayed_weights(options.l2_penalty))
    whole = optax.chain(*chain, _RULES[options.name](options, _rate(options)))

    def update(weights: Arrays, state: Any, gradients: Arrays) -> Tuple[Arrays, Any]:
        updates, state = whole.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state

    return Optimizer(whole.init(weights), update)


def _rate(options: Options) -> Any:
    schedule = options.learning_rate
    return schedule.peak if schedule.is_constant else lambda step: schedule.rate(jnp.asarray(step, jnp.float32), jnp)


def _clipped(gradients: Arrays, limit: Any) -> Arrays:
    factor = jnp.minimum(1.0, limit / (optax.global_norm(gradients) + NORM_EPS))
    return jax.tree.map(lambda each: each * factor, gradients)


def _moments(options: Options) -> Dict[str, float]:
    """Return the arguments of Adam.

    The betas are rounded to float32: Optax computes 1 - beta in float64 and 1 - beta^t in float32, and must use the
    same beta in both.
    """
    first, second = (float(numpy.float32(beta)) for beta in options.betas)
    return {"b1": first, "b2": second, "eps": options.eps}


def _adagrad(options: Options, rate: Any) -> optax.GradientTransformation:
    def update(gradients: Any, squares: Any, weights: Any = None) -> Tuple[Any, Any]:
        squares = jax.tree.map(lambda square, each: square + each * each, squares, gradients)
        scaled = jax.tree.map(lambda each, square: each / (jnp.sqrt(square) + options.eps), gradients, squares)
        return scaled, squares

    sums = optax.GradientTransformation(lambda weights: jax.tree.map(jnp.zeros_like, weights), update)
    return optax.chain(sums, optax.scale_by_learning_rate(rate))


_RULES: Dict[str, Callable[[Options, Any], optax.GradientTransformation]] = {
    optimizers.SGD: lambda options, rate: optax.sgd(rate),
    optimizers.MOMENTUM: lambda options, rate: optax.sgd(rate, options.momentum),
    optimizers.NESTEROV: lambda options, rate: optax.sgd(rate, options.momentum, nesterov=True),
    optimizers.ADAM: lambda options, rate: optax.adam(rate, **_moments(options)),
    optimizers.ADAMW: lambda options, rate: optax.adamw(rate, **_moments(options), weight_decay=options.weight_decay),
    optimizers.ADAGRAD: _adagrad,
    optimizers.RMSPROP: lambda options, rate: optax.rmsprop(rate, options.alpha, options.eps, eps_in_sqrt=False),
    optimizers.LAMB: lambda options, rate: optax.lamb(rate, **_moments(options), weight_decay=options.weight_decay),
}
