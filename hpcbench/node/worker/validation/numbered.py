"""The index of each weight of a framework's arrays in the arrays of layers.py, found by numbers instead of weights.

Frameworks transpose, join and reorder weights. A network whose initial weights are numbers shows for each element of
its arrays which weight it is. Two networks show the two digits of these numbers: float32 is exact up to 2^24 only.
"""

from dataclasses import replace
from typing import Any, Callable, Dict, Iterable, List

import numpy

from ....models.initial_weights import InitialWeights
from ....models.layers import Layer, Shape
from ....models.network_reference import with_weights
from ...frameworks.adapter import Adapter
from ...workload.problem import Problem

BASE = 2**24


class NotFoundError(Exception):
    """The framework's arrays do not contain each weight once."""


class Digits(InitialWeights):
    """The number of each weight, from 1, in place of its value: its digit of a place, 1 or BASE."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self._place, self._next = place, 1

    def of(self, layer: Layer, shape: Shape) -> Dict[str, "numpy.ndarray"]:
        """Return the digits of the weights of one layer by name."""
        found = {}
        for name, weight in layer.weights(shape).items():
            count = int(numpy.prod(weight.shape))
            numbers = numpy.arange(self._next, self._next + count) // self._place % BASE
            found[name] = numbers.reshape(weight.shape).astype(numpy.float32)
            self._next += count
        return found


def places_in_network(adapter: Adapter, problem: Problem) -> List["numpy.ndarray"]:
    """Return the places of the weights of the network that a framework builds of the layers of a problem.

    The result is that of `places_of`. Raise NotFoundError if the framework's arrays do not have each weight once.
    """

    def weights_of(initial: InitialWeights) -> List["numpy.ndarray"]:
        network: Any = adapter.build(replace(problem, initial_weights=lambda seed: initial))
        return copied(network.weights())

    layers = with_weights(problem.layers, problem.item_shape)
    weights = [weight for _, layer, shape in layers for weight in layer.weights(shape).values()]
    return places_of(weights_of, sum(int(numpy.prod(weight.shape)) for weight in weights))


def copied(arrays: Iterable[Any]) -> List["numpy.ndarray"]:
    """Return copies as NumPy arrays: a framework may change its arrays in place."""
    return [numpy.array(each) for each in arrays]


def places_of(weights_of: Callable[[InitialWeights], List["numpy.ndarray"]], count: int) -> List["numpy.ndarray"]:
    """Return for each array of a framework the index of its elements among all `count` weights, in order of layers.

    `weights_of` builds a network with the given initial weights, and returns its arrays. Raise NotFoundError if they
    do not contain each weight once.
    """
    low, high = (weights_of(Digits(place)) for place in (1, BASE))
    places = [a.astype(numpy.int64) + BASE * b.astype(numpy.int64) - 1 for a, b in zip(low, high)]
    found = numpy.concatenate([each.ravel() for each in places])
    if len(found) != count or found.min() < 0 or (numpy.bincount(found, minlength=count) != 1).any():
        raise NotFoundError("the weights of this framework do not match the weights of the model one to one")
    return places


def in_order(arrays: List["numpy.ndarray"], places: List["numpy.ndarray"]) -> "numpy.ndarray":
    """Return the elements of a framework's arrays as one array in the order of layers.

    Raise NotFoundError if these are not as many arrays as those of `places`.
    """
    if len(arrays) != len(places):
        raise NotFoundError("the framework returned %d arrays instead of %d" % (len(arrays), len(places)))
    result: "numpy.ndarray" = numpy.zeros(sum(each.size for each in places), numpy.float64)
    for array, place in zip(arrays, places):
        result[place.ravel()] = numpy.asarray(array, numpy.float64).reshape(place.shape).ravel()
    return result
