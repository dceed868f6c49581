"""The optimizers of MXNet, some with options that hpcbench updates before each step, and those that MXNet lacks."""

import math
from typing import Any, List

import mxnet as mx
import numpy

from ....models import optimizers
from ....models.optimizers import NORM_EPS, Optimizer
from ...errors import Unsupported

# Not LAMB, which needs the norms of whole weight tensors: large ones are divided among the servers.
_ON_SERVERS = (optimizers.SGD, optimizers.MOMENTUM, optimizers.NESTEROV)


class _AdamW(mx.optimizer.Adam):
    """Adam with decoupled weight decay, `decay`."""

    def __init__(self, decay: float, **options: Any) -> None:
        super().__init__(**options)
        self.decay = decay

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        weight *= 1.0 - self.lr * self.decay
        super().update(index, weight, grad, state)


class _Momentum(mx.optimizer.Optimizer):
    """Momentum with a learning rate that changes: MXNet's own optimizers include the learning rate in the momentum."""

    def __init__(self, momentum: float, nesterov: bool, **options: Any) -> None:
        super().__init__(**options)
        self.momentum, self.nesterov = momentum, nesterov

    def create_state(self, index: Any, weight: Any) -> Any:
        return mx.nd.zeros(weight.shape, weight.context, dtype=weight.dtype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        grad = grad * self.rescale_grad + self._get_wd(index) * weight
        state[:] = self.momentum * state + grad
        weight -= self._get_lr(index) * (grad + self.momentum * state if self.nesterov else state)


class _RootMeanSquare(mx.optimizer.Optimizer):
    """AdaGrad and RMSProp with eps outside the root: the mean or, if `alpha` is None, the sum of squares."""

    def __init__(self, eps: float, alpha: Any, **options: Any) -> None:
        super().__init__(**options)
        self.eps, self.alpha = eps, alpha

    def create_state(self, index: Any, weight: Any) -> Any:
        return mx.nd.zeros(weight.shape, weight.context, dtype=weight.dtype)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_count(index)
        grad = grad * self.rescale_grad + self._get_wd(index) * weight
        if self.alpha is None:
            state += grad * grad
        else:
            state[:] = self.alpha * state + (1.0 - self.alpha) * grad * grad
        weight -= self._get_lr(index) * grad / (mx.nd.sqrt(state) + self.eps)


def optimizer_of(options: Optimizer) -> Any:
    """Return the optimizer of MXNet for the first step."""
    common = {"learning_rate": options.learning_rate.peak, "wd": options.weight_decay}
    # MXNet computes 1 - beta in float32 and 1 - beta^t in float64, and must use the same beta in both.
    first, second = (float(numpy.float32(beta)) for beta in options.betas)
    moments = {"beta1": first, "beta2": second, "epsilon": options.eps}
    if options.name == optimizers.SGD:
        return mx.optimizer.SGD(**common)
    if options.name in (optimizers.MOMENTUM, optimizers.NESTEROV):
        nesterov = options.name == optimizers.NESTEROV
        if not options.learning_rate.is_constant:
            return _Momentum(options.momentum, nesterov, **common)
        return (mx.optimizer.NAG if nesterov else mx.optimizer.SGD)(momentum=options.momentum, **common)
    if options.name == optimizers.ADAM:
        return mx.optimizer.Adam(**moments, **common)
    if options.name == optimizers.ADAMW:
        return _AdamW(options.weight_decay, learning_rate=options.learning_rate.peak, wd=0.0, **moments)
    if options.name == optimizers.LAMB:
        return mx.optimizer.LAMB(bias_correction=True, **moments, **common)
    alpha = options.alpha if options.name == optimizers.RMSPROP else None
    return _RootMeanSquare(options.eps, alpha, **common)


def set_step(optimizer: Any, options: Optimizer, step: int) -> None:
    """Set the options of MXNet's optimizer that differ between steps, before the step with this number, from 0."""
    if not options.learning_rate.is_constant:
        optimizer.set_learning_rate(float(options.learning_rate.rate(step, numpy)))
    if options.name in (optimizers.ADAM, optimizers.ADAMW):  # MXNet adds eps to a root without bias correction
        optimizer.epsilon = options.eps * math.sqrt(1.0 - options.betas[1] ** (step + 1))


def clip(parameters: List[Any], options: Optimizer) -> None:
    """Clip the gradients of parameters in place, if the optimizer clips."""
    if options.clip_norm is None and options.clip_value is None:
        return
    gradients = [each.grad() for each in parameters]
    if options.clip_norm is not None:
        norm = math.sqrt(sum(float(mx.nd.sum(each * each).asscalar()) for each in gradients))
        for each in gradients:
            each *= min(1.0, options.clip_norm / (norm + NORM_EPS))
    if options.clip_value is not None:
        for each in gradients:
            mx.nd.clip(each, -options.clip_value, options.clip_value, out=each)


def check_servers(options: Optimizer, strategy: str) -> None:
    """Raise Unsupported for an optimizer that MXNet's servers, which run only MXNet's own, cannot run."""
    what = "cannot be used with MXNet and strategy: %s" % strategy
    if options.name not in _ON_SERVERS:
        raise Unsupported("optimizer %s %s; use one of: %s" % (options.name, what, ", ".join(_ON_SERVERS)))
    if not options.learning_rate.is_constant:
        raise Unsupported("a learning-rate schedule %s" % what)
    if options.clip_norm is not None or options.clip_value is not None:
        raise Unsupported("clip_norm and clip_value %s" % what)
