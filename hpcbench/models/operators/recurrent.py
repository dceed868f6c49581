"""Recurrent operators: cells alone, as DeepBench times them, and the layer of an LSTM.

A cell is the recurrence over all time steps without the product with the input: its input x_t holds those products
already. The layer `lstm` includes them. States start at 0.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Dict

from .operator import BOTH, FORWARD, MATRIX, OF_INPUTS, OF_WEIGHTS, WEIGHT, Array, Operator


class _Recurrence(Operator):
    """An operator whose gradients go back through time, also those of the weights alone."""

    @abstractmethod
    def recurrent_flops(self) -> int:
        """Return the FLOPs of the products with the hidden state in the forward pass."""

    def flops(self, phase: str) -> int:
        """Return the FLOPs of one call of a phase."""
        forward = self.forward_flops()
        of_weights = forward + self.recurrent_flops()
        return {FORWARD: forward, OF_INPUTS: forward, OF_WEIGHTS: of_weights, BOTH: 2 * forward}[phase]


@dataclass(frozen=True)
class _Cell(_Recurrence):
    """A recurrence h_t = g(x_t, U h_(t-1)) with U (gates * hidden, hidden)."""

    gates: ClassVar[int]
    hidden: int = 512
    batch: int = 16
    timesteps: int = 25

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (batch, timesteps, gates * hidden) and `kernel` (gates * hidden, hidden)."""
        width = self.gates * self.hidden
        return {
            "x": Array((self.batch, self.timesteps, width)),
            "kernel": Array((width, self.hidden), WEIGHT, 1 / math.sqrt(self.hidden), MATRIX),
        }

    def output(self) -> Array:
        """Return h (batch, timesteps, hidden)."""
        return Array((self.batch, self.timesteps, self.hidden))

    def forward_flops(self) -> int:
        return self.recurrent_flops()

    def recurrent_flops(self) -> int:
        return 2 * self.gates * self.hidden**2 * self.batch * self.timesteps


class RnnCell(_Cell):
    """A vanilla RNN: h = relu(x + U h)."""

    gates = 1

    def arrays(self) -> Dict[str, Array]:
        """Return `x` and `kernel`, with numbers by which no sum is near 0, where the gradient is not defined."""
        arrays = super().arrays()
        x, kernel = arrays["x"], arrays["kernel"]
        return {"x": x._replace(least=2.0), "kernel": kernel._replace(spread=0.1 * kernel.spread)}


class LstmCell(_Cell):
    """An LSTM without peepholes, gates in the order input, forget, cell, output.

    c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c), where (i, f, g, o) = x + U h.
    """

    gates = 4


class GruCell(_Cell):
    """A GRU, gates in the order reset, update, new: the variant of cuDNN and PyTorch.

    r = sigmoid(x_r + U_r h); z = sigmoid(x_z + U_z h); h = (1 - z) tanh(x_n + r (U_n h)) + z h.
    """

    gates = 3


@dataclass(frozen=True)
class Lstm(_Recurrence):
    """The framework's own LSTM of one layer and direction, with the product with the input, and without bias."""

    inputs: int = 512
    hidden: int = 512
    batch: int = 16
    timesteps: int = 25

    def arrays(self) -> Dict[str, Array]:
        """Return `x` (batch, timesteps, inputs) and the kernels (4 hidden, inputs) and (4 hidden, hidden)."""
        spread = 1 / math.sqrt(self.hidden)
        return {
            "x": Array((self.batch, self.timesteps, self.inputs)),
            "input_kernel": Array((4 * self.hidden, self.inputs), WEIGHT, spread, MATRIX),
            "hidden_kernel": Array((4 * self.hidden, self.hidden), WEIGHT, spread, MATRIX),
        }

    def output(self) -> Array:
        """Return h (batch, timesteps, hidden)."""
        return Array((self.batch, self.timesteps, self.hidden))

    def forward_flops(self) -> int:
        return self.recurrent_flops() + 8 * self.hidden * self.inputs * self.batch * self.timesteps

    def recurrent_flops(self) -> int:
        return 8 * self.hidden**2 * self.batch * self.timesteps
