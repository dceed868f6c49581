"""Keras 3 on PyTorch: Keras' layers, dtypes and optimizer, in PyTorch's loop and under its strategies.

After the Keras guide "Writing a custom training loop in PyTorch".
"""

from contextlib import nullcontext
from typing import Any, ContextManager, List

import keras
import torch
from torch import nn

from ...workload.problem import Problem
from ..pytorch.network import PyTorchNetwork
from ..pytorch.update import exchanging
from . import layers, optimizers


class KerasModule(nn.Module):
    """A Keras model as a PyTorch module. It passes `training` explicitly, which Keras does not read from the module."""

    def __init__(self, model: keras.Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Any:
        """Return the logits, (batch, classes), or what else the model returns."""
        return self.model(batch, training=self.training)


class KerasUpdate:
    """The update of a Keras model by an optimizer of Keras."""

    def __init__(self, model: Any, trained: List[Any], problem: Problem) -> None:
        self.model, self.trained, self.count = model, trained, problem.batches_per_step
        self.optimizer = optimizers.Updates(problem.optimizer, trained)

    def begin(self) -> None:
        """Begin a step: clear the gradients of the previous step."""
        for variable in self.trained:
            variable.value.grad = None

    def batch(self, *, is_last: bool) -> ContextManager[Any]:
        """Return the context of the forward and backward pass of a batch."""
        return exchanging(self.model, is_last=is_last)

    def backward(self, loss: torch.Tensor) -> None:
        """Run the backward pass of one batch."""
        (loss if self.count == 1 else loss / self.count).backward()

    def exchange(self) -> None:
        """Do nothing: the backward pass of DDP has exchanged gradients."""

    def loss_scale(self) -> float:
        """Return the factor by which the gradients are too large."""
        return 1.0

    def step(self) -> None:
        """Update the weights with the gradients of all batches of this step."""
        # The loss of a user's model may not depend on every weight.
        trained = [variable for variable in self.trained if variable.value.grad is not None]
        with torch.no_grad():
            self.optimizer.apply([variable.value.grad for variable in trained], trained)


class KerasTorchNetwork(PyTorchNetwork):
    """A network of Keras layers in PyTorch's loop."""

    def model_of(self, problem: Problem) -> nn.Module:
        model = layers.model_of(problem)
        self.trained = model.trainable_variables
        return KerasModule(model)

    def update_of(self, problem: Problem) -> "KerasUpdate":
        return KerasUpdate(self.model, self.trained, problem)

    def trainable(self) -> List[torch.Tensor]:
        return [variable.value for variable in self.trained if variable.value.requires_grad]

    def autocast(self) -> ContextManager[Any]:
        return nullcontext()  # Keras' dtype policy replaces it
