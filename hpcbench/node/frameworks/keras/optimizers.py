"""The optimizers of a case in Keras.

`sgd` always uses Keras' SGD; `momentum` and `nesterov` use it if the learning rate is constant. The other optimizers of
Keras differ from the definitions: the momentum includes the learning rate of each step, Adam adds eps before the bias
correction, AdaGrad and RMSProp add eps within the root, and LAMB decays weights outside the trust ratio. For these,
hpcbench implements the update step.
"""

import math
from typing import Any, Callable, Dict, List, Sequence, Union

import keras
from keras import ops

from ....models import optimizers
from ....models.optimizers import NORM_EPS, Optimizer
from ....models.schedules import Schedule

Tensor = Any


class Updates:
    """An optimizer for these variables. With TensorFlow, create it in the scope of the strategy."""

    def __init__(self, options: Optimizer, variables: Sequence[Any]) -> None:
        self.options = options
        self.optimizer = keras_optimizer(options)
        self.optimizer.build(variables)

    def apply(self, gradients: Sequence[Tensor], variables: Sequence[Any]) -> None:
        """Update the variables with their gradients, in place."""
        self.optimizer.apply(prepared(self.options, gradients, variables), variables)


def prepared(options: Optimizer, gradients: Sequence[Tensor], weights: Sequence[Any]) -> List[Tensor]:
    """Return the gradients, clipped and with the L2 penalty."""
    found = list(gradients)
    if options.clip_norm is not None:
        norm = ops.sqrt(sum(ops.sum(ops.square(each)) for each in found))
        factor = ops.minimum(1.0, options.clip_norm / (norm + NORM_EPS))
        found = [each * factor for each in found]
    if options.clip_value is not None:
        found = [ops.clip(each, -options.clip_value, options.clip_value) for each in found]
    if not options.l2_penalty:
        return found
    return [each + options.l2_penalty * ops.convert_to_tensor(weight) for each, weight in zip(found, weights)]


def keras_optimizer(options: Optimizer) -> Any:
    """Return the optimizer of Keras for gradients that `prepared` has returned."""
    constant = options.learning_rate.is_constant
    if options.name == optimizers.SGD or (not options.is_adaptive and constant):
        nesterov = options.name == optimizers.NESTEROV
        return keras.optimizers.SGD(_rate(options.learning_rate), options.momentum, nesterov=nesterov)
    return _RULES[options.name](options)


class _Rate(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule of hpcbench as one of Keras."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__()
        self.schedule = schedule

    def __call__(self, step: Tensor) -> Tensor:
        """Return the learning rate of a step."""
        return self.schedule.rate(ops.cast(step, "float32"), ops)


def _rate(schedule: Schedule) -> Union[float, _Rate]:
    return schedule.peak if schedule.is_constant else _Rate(schedule)


class _Rule(keras.optimizers.Optimizer):
    """The base of optimizers with an update step of their own; `slots` are the names of their variables."""

    slots: Sequence[str] = ()

    def __init__(self, options: Optimizer) -> None:
        super().__init__(learning_rate=_rate(options.learning_rate), name=options.name)
        self.options = options

    def build(self, variables: Sequence[Any]) -> None:
        """Create the variables of the optimizer."""
        if not self.built:
            super().build(variables)
            self.variables_of_slots = self.add_optimizer_variables(variables, list(self.slots))

    def slots_of(self, variable: Any) -> List[Any]:
        """Return the optimizer's variables for a weight."""
        index = self._get_variable_index(variable)
        return [each[index] for each in self.variables_of_slots]

    def moments(self, gradient: Tensor, variable: Any) -> Tensor:
        """Update both moments of Adam, and return their bias-corrected quotient."""
        mean, square = self.slots_of(variable)
        first, second = self.options.betas
        self.assign(mean, first * mean + (1.0 - first) * gradient)
        self.assign(square, second * square + (1.0 - second) * ops.square(gradient))
        step = ops.cast(self.iterations + 1, "float32")
        root = ops.sqrt(square / _correction(second, step)) + self.options.eps
        return mean / _correction(first, step) / root


def _correction(beta: float, step: Tensor) -> Tensor:
    """Return 1 - beta^step without the rounding error of a power close to 1."""
    return -ops.expm1(step * math.log(beta)) if beta else 1.0


class _Momentum(_Rule):
    slots = ("momentum",)

    def update_step(self, gradient: Tensor, variable: Any, learning_rate: Tensor) -> None:
        (momentum,) = self.slots_of(variable)
        factor = self.options.momentum
        self.assign(momentum, factor * momentum + gradient)
        change = momentum if self.options.name == optimizers.MOMENTUM else gradient + factor * momentum
        self.assign_sub(variable, learning_rate * change)


class _Adam(_Rule):
    slots = ("momentum", "velocity")

    def update_step(self, gradient: Tensor, variable: Any, learning_rate: Tensor) -> None:
        update = self.moments(gradient, variable)
        if self.options.name == optimizers.ADAMW:
            update = update + self.options.weight_decay * variable
        self.assign_sub(variable, learning_rate * update)


class _Adagrad(_Rule):
    slots = ("accumulator",)

    def update_step(self, gradient: Tensor, variable: Any, learning_rate: Tensor) -> None:
        (total,) = self.slots_of(variable)
        self.assign_add(total, ops.square(gradient))
        self.assign_sub(variable, learning_rate * gradient / (ops.sqrt(total) + self.options.eps))


class _RmsProp(_Rule):
    slots = ("velocity",)

    def update_step(self, gradient: Tensor, variable: Any, learning_rate: Tensor) -> None:
        (square,) = self.slots_of(variable)
        alpha = self.options.alpha
        self.assign(square, alpha * square + (1.0 - alpha) * ops.square(gradient))
        self.assign_sub(variable, learning_rate * gradient / (ops.sqrt(square) + self.options.eps))


class _Lamb(_Rule):
    slots = ("momentum", "velocity")

    def update_step(self, gradient: Tensor, variable: Any, learning_rate: Tensor) -> None:
        update = self.moments(gradient, variable) + self.options.weight_decay * variable
        own, change = _norm(variable), _norm(update)
        usable = ops.logical_and(own > 0, change > 0)
        ratio = ops.where(usable, own / ops.where(usable, change, 1.0), 1.0)
        self.assign_sub(variable, learning_rate * ratio * update)


def _norm(tensor: Any) -> Tensor:
    return ops.sqrt(ops.sum(ops.square(tensor)))


_RULES: Dict[str, Callable[[Optimizer], Any]] = {
    optimizers.MOMENTUM: _Momentum,
    optimizers.NESTEROV: _Momentum,
    optimizers.ADAM: _Adam,
    optimizers.ADAMW: _Adam,
    optimizers.ADAGRAD: _Adagrad,
    optimizers.RMSPROP: _RmsProp,
    optimizers.LAMB: _Lamb,
}
