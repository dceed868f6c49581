"""Keras 3 on PyTorch: Keras' layers, dtypes and optimizer, in PyTorch's loop and under its strategies.

After the Keras guide "Writing a custom training loop in PyTorch".
"""

from contextlib import nullcontext
from typing import Any, ContextManager

import keras
import torch
from torch import nn

from ...workload.problem import MOMENTUM, Problem
from .. import capabilities
from ..pytorch.adapter import PyTorch
from ..pytorch.network import PyTorchNetwork
from ..pytorch.strategies import Update
from . import layers


class KerasModule(nn.Module):
    """A Keras model as a PyTorch module. It passes `training` explicitly, which Keras does not read from the module."""

    def __init__(self, model: keras.Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the logits, (batch, classes)."""
        return self.model(batch, training=self.training)


class KerasTorchNetwork(PyTorchNetwork):
    """A network of Keras layers in PyTorch's loop."""

    def model_of(self, problem: Problem) -> nn.Module:
        model = layers.model_of(problem)
        self.trained = model.trainable_variables
        return KerasModule(model)

    def update_of(self, problem: Problem) -> Update:
        optimizer = keras.optimizers.SGD(problem.learning_rate, MOMENTUM)
        optimizer.build(self.trained)

        def update(loss: torch.Tensor) -> None:
            for variable in self.trained:
                variable.value.grad = None
            loss.backward()
            with torch.no_grad():
                optimizer.apply([variable.value.grad for variable in self.trained], self.trained)

        return update

    def autocast(self) -> ContextManager[Any]:
        return nullcontext()  # Keras' dtype policy replaces it


class KerasTorch(PyTorch):
    """The adapter of Keras on PyTorch."""

    name = "keras-torch"
    packages = ("keras", "torch", "numpy")
    libraries = (layers.KERAS, *PyTorch.libraries)
    network = KerasTorchNetwork

    def build(self, problem: Problem) -> PyTorchNetwork:
        capabilities.refuse_unscaled_float16(problem)
        return super().build(problem)


ADAPTER = KerasTorch()
