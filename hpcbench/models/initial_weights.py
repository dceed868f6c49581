"""Initial weights and synthetic input. A seed gives the same numbers in every framework and every version of numpy."""

from typing import Dict

import numpy

from .layers import Layer, Shape, Weight


class Numbers:
    """A stream of pseudo-random numbers, made from the raw bits of PCG64.

    Versions of numpy may change its distributions, but never these bits (NumPy, NEP 19).
    """

    def __init__(self, *seed: int) -> None:
        """Seed the stream with one or more integers; zeros at the end have no effect."""
        self._bits = numpy.random.PCG64(numpy.random.SeedSequence(seed))

    def uniform(self, shape: Shape, spread: float, center: float = 0.0) -> "numpy.ndarray":
        """Return float32 numbers in `center` +- `spread`, on 65,536 levels."""
        values = self._levels(shape).astype(numpy.float32)
        values -= numpy.float32(32767.5)
        values *= numpy.float32(spread / 32768)
        values += numpy.float32(center)
        return values

    def integers(self, shape: Shape, below: int) -> "numpy.ndarray":
        """Return int32 numbers from 0 to `below` - 1, with a bias of at most `below` / 2**32."""
        count = int(numpy.prod(shape))
        raw = self._bits.random_raw(count) >> numpy.uint64(32)
        return ((raw * numpy.uint64(below)) >> numpy.uint64(32)).astype(numpy.int32).reshape(shape)

    def _levels(self, shape: Shape) -> "numpy.ndarray":
        count = int(numpy.prod(shape))
        return self._bits.random_raw((count + 3) // 4).view(numpy.uint16)[:count].reshape(shape)


class InitialWeights:
    """Make the initial weights of a model's layers. Call `of` in the order of the layers."""

    def __init__(self, seed: int) -> None:
        self._numbers = Numbers(seed)

    def of(self, layer: Layer, shape: Shape) -> Dict[str, "numpy.ndarray"]:
        """Return the float32 arrays of one layer by name, in the layout that layers.py defines."""
        return {name: self._draw(weight) for name, weight in layer.weights(shape).items()}

    def _draw(self, weight: Weight) -> "numpy.ndarray":
        if weight.spread == 0:
            return numpy.full(weight.shape, weight.center, numpy.float32)
        return self._numbers.uniform(weight.shape, weight.spread, weight.center)
