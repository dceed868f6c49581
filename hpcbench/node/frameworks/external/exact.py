"""The interface of the reference of an external model: the same model in float64."""

from abc import ABC, abstractmethod
from typing import Dict, List, NamedTuple

import numpy

LOSS = "loss"
Arrays = Dict[str, "numpy.ndarray"]


class Slope(NamedTuple):
    """The derivative of the loss along a direction in the space of the weights."""

    difference: float  # by a central difference
    product: float  # by the gradients
    norm: float  # of the gradients, weighted like the direction


class Exact(ABC):
    """A copy of an external model in float64, with the weights and the batch of the network that is validated."""

    names: List[str]  # of the trainable weights, in the order of `Network.gradients`

    @abstractmethod
    def results(self, noise: float = 0.0, seed: int = 0) -> Arrays:
        """Return the output, or in training the loss and the gradients by the names of their weights.

        With `noise`, weights and input numbers first change by random numbers of this size, relative to the root mean
        square of their array. `seed` determines all random numbers, also those of the model. Raise Unsupported if the
        model cannot run in float64.
        """

    @abstractmethod
    def slope(self, seed: int, step: float) -> Slope:
        """Return the derivative of the loss along a random direction.

        The direction has a random sign for each weight, times the root mean square of its array.
        """
