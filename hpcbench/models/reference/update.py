"""The reference of the optimizers: the update of weights in float64, as models/optimizers.py defines it."""

import math
from typing import Callable, Dict, List, NamedTuple, Sequence

import numpy

from .. import optimizers
from ..optimizers import NORM_EPS, Optimizer

Arrays = List["numpy.ndarray"]
State = Dict[str, "numpy.ndarray"]


class Place(NamedTuple):
    """What the update of a weight tensor also depends on: options, states, and the number of the step, from 1."""

    options: Optimizer
    state: State
    step: int

    def moved(self, name: str, factor: float, change: "numpy.ndarray") -> "numpy.ndarray":
        """Multiply a state, which starts at 0, by `factor`, add `change`, and return the result."""
        self.state[name] = factor * self.state.get(name, 0.0) + change
        return self.state[name]


class ReferenceUpdate:
    """The updates of weights by an optimizer, step by step, with its states in float64."""

    def __init__(self, options: Optimizer) -> None:
        """Take an optimizer whose learning rate is a schedule over steps."""
        self._options, self._steps = options, 0
        self._states: List[State] = []

    def next(self, weights: Sequence["numpy.ndarray"], gradients: Sequence["numpy.ndarray"]) -> Arrays:
        """Return the weights after the next step, which starts from these weights and mean gradients (any shapes)."""
        options = self._options
        rate = float(options.learning_rate.rate(self._steps, numpy))
        self._steps += 1
        self._states = self._states or [{} for _ in weights]
        exact = [numpy.asarray(each, numpy.float64) for each in weights]
        clipped = _clipped([numpy.asarray(each, numpy.float64) for each in gradients], options)
        places = [Place(options, state, self._steps) for state in self._states]
        return [_updated(*each, rate) for each in zip(exact, clipped, places)]


def _clipped(gradients: Arrays, options: Optimizer) -> Arrays:
    if options.clip_norm is not None:
        norm = math.sqrt(sum(float((each**2).sum()) for each in gradients))
        return [each * min(1.0, options.clip_norm / (norm + NORM_EPS)) for each in gradients]
    if options.clip_value is not None:
        return [numpy.clip(each, -options.clip_value, options.clip_value) for each in gradients]
    return gradients


def _updated(weight: "numpy.ndarray", gradient: "numpy.ndarray", place: Place, rate: float) -> "numpy.ndarray":
    name, decay = place.options.name, place.options.weight_decay
    direction = _DIRECTIONS[name](gradient + place.options.l2_penalty * weight, place)
    if name == optimizers.ADAMW:
        direction = direction + decay * weight
    elif name == optimizers.LAMB:
        direction = direction + decay * weight
        norms = numpy.linalg.norm(weight), numpy.linalg.norm(direction)
        rate *= float(norms[0] / norms[1]) if min(norms) > 0 else 1.0
    return weight - rate * direction


def _plain(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    return gradient


def _momentum(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    return place.moved("b", place.options.momentum, gradient)


def _nesterov(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    return gradient + place.options.momentum * _momentum(gradient, place)


def _adam(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    first, second = place.options.betas
    mean = place.moved("m", first, (1 - first) * gradient) / (1 - first**place.step)
    square = place.moved("v", second, (1 - second) * gradient**2) / (1 - second**place.step)
    return mean / (numpy.sqrt(square) + place.options.eps)


def _adagrad(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    root: "numpy.ndarray" = numpy.sqrt(place.moved("s", 1.0, gradient**2))
    return gradient / (root + place.options.eps)


def _rmsprop(gradient: "numpy.ndarray", place: Place) -> "numpy.ndarray":
    alpha = place.options.alpha
    root: "numpy.ndarray" = numpy.sqrt(place.moved("s", alpha, (1 - alpha) * gradient**2))
    return gradient / (root + place.options.eps)


_DIRECTIONS: Dict[str, Callable[["numpy.ndarray", Place], "numpy.ndarray"]] = {
    optimizers.SGD: _plain,
    optimizers.MOMENTUM: _momentum,
    optimizers.NESTEROV: _nesterov,
    **dict.fromkeys((optimizers.ADAM, optimizers.ADAMW, optimizers.LAMB), _adam),
    optimizers.ADAGRAD: _adagrad,
    optimizers.RMSPROP: _rmsprop,
}
