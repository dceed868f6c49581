"""The optimizers of a case in TensorFlow: its fused operations, and plain ones for RMSProp and LAMB.

Variables are updated by their handles, since a strategy allows no assignments to its variables within a step.
"""

import math
from typing import Any, Callable, Dict, List, Sequence

import tensorflow as tf

from ....models import optimizers
from ....models.optimizers import NORM_EPS, STATE_TENSORS, Optimizer

Tensor = Any


class Updates:
    """An optimizer for these variables. Create it in the scope of the strategy."""

    def __init__(self, options: Optimizer, variables: Sequence[tf.Variable]) -> None:
        self.options = options
        self.step = tf.Variable(0.0, trainable=False)
        self.slots = [
            [tf.Variable(tf.zeros(each.shape, each.dtype), trainable=False) for _ in range(STATE_TENSORS[options.name])]
            for each in variables
        ]

    def apply(self, gradients: Sequence[Tensor], variables: Sequence[tf.Variable]) -> None:
        """Update the variables with their gradients, in place."""
        step = self.step.read_value()
        rate = self.options.learning_rate.rate(step, tf)
        rule = _RULES[self.options.name]
        for variable, slots, gradient in zip(variables, self.slots, self._prepared(gradients, variables)):
            rule(self.options, variable, slots, gradient, rate, step + 1.0)
        tf.raw_ops.AssignVariableOp(resource=self.step.handle, value=step + 1.0)

    def _prepared(self, gradients: Sequence[Tensor], variables: Sequence[tf.Variable]) -> List[Tensor]:
        """Return the gradients, clipped and with the L2 penalty."""
        options = self.options
        found = list(gradients)
        if options.clip_norm is not None:
            found, _ = tf.clip_by_global_norm(found, options.clip_norm, tf.linalg.global_norm(found) + NORM_EPS)
        if options.clip_value is not None:
            found = [tf.clip_by_value(each, -options.clip_value, options.clip_value) for each in found]
        if not options.l2_penalty:
            return found
        return [each + options.l2_penalty * weight.read_value() for each, weight in zip(found, variables)]


def _sgd(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    tf.raw_ops.ResourceApplyGradientDescent(var=weight.handle, alpha=rate, delta=gradient)


def _momentum(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    tf.raw_ops.ResourceApplyMomentum(
        var=weight.handle,
        accum=slots[0].handle,
        lr=rate,
        grad=gradient,
        momentum=options.momentum,
        use_nesterov=options.name == optimizers.NESTEROV,
    )


def _adam(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    """Apply Adam. TensorFlow adds eps to a root without bias correction (the paper's eps hat), hence the factor."""
    first, second = options.betas
    power = second**step
    tf.raw_ops.ResourceApplyAdam(
        var=weight.handle,
        m=slots[0].handle,
        v=slots[1].handle,
        beta1_power=first**step,
        beta2_power=power,
        lr=rate,
        beta1=first,
        beta2=second,
        epsilon=options.eps * tf.sqrt(1.0 - power),
        grad=gradient,
    )


def _adamw(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    _assign(weight, weight.read_value() * (1.0 - rate * options.weight_decay))
    _adam(options, weight, slots, gradient, rate, step)


def _adagrad(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    tf.raw_ops.ResourceApplyAdagradV2(
        var=weight.handle, accum=slots[0].handle, lr=rate, epsilon=options.eps, grad=gradient
    )


def _rmsprop(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    """Apply RMSProp. TensorFlow's own operation adds eps within the root."""
    square = _assign(slots[0], options.alpha * slots[0].read_value() + (1.0 - options.alpha) * tf.square(gradient))
    _assign(weight, weight.read_value() - rate * gradient / (tf.sqrt(square) + options.eps))


def _lamb(options: Optimizer, weight: Any, slots: Any, gradient: Tensor, rate: Any, step: Tensor) -> None:
    first, second = options.betas
    mean = _assign(slots[0], first * slots[0].read_value() + (1.0 - first) * gradient)
    square = _assign(slots[1], second * slots[1].read_value() + (1.0 - second) * tf.square(gradient))
    root = tf.sqrt(square / _correction(second, step)) + options.eps
    own = weight.read_value()
    update = mean / _correction(first, step) / root + options.weight_decay * own
    ratio = tf.math.divide_no_nan(tf.norm(own), tf.norm(update))
    _assign(weight, own - rate * tf.where(ratio > 0.0, ratio, 1.0) * update)


def _correction(beta: float, step: Tensor) -> Tensor:
    """Return 1 - beta^step without the rounding error of a power close to 1."""
    return -tf.math.expm1(step * math.log(beta)) if beta else 1.0


def _assign(variable: Any, value: Tensor) -> Tensor:
    tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
    return value


_RULES: Dict[str, Callable[..., None]] = {
    optimizers.SGD: _sgd,
    optimizers.MOMENTUM: _momentum,
    optimizers.NESTEROV: _momentum,
    optimizers.ADAM: _adam,
    optimizers.ADAMW: _adamw,
    optimizers.ADAGRAD: _adagrad,
    optimizers.RMSPROP: _rmsprop,
    optimizers.LAMB: _lamb,
}
