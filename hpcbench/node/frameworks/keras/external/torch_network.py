"""An external model of Keras on PyTorch."""

from typing import Any

import keras
import torch
from torch import nn

from ....workload.problem import Problem
from ...external.trace import Trace
from ...pytorch.external.network import ExternalPyTorchNetwork, tensors
from ...pytorch.external.outputs import main_output
from ...pytorch.external.trace import trace
from ..losses import LOSSES
from ..on_torch import KerasModule, KerasTorchNetwork
from .build import model_of


class ExternalKerasTorchNetwork(ExternalPyTorchNetwork, KerasTorchNetwork):
    """A model of keras.applications or of the user's function in PyTorch's loop."""

    channels_last = True
    has_reference = False  # layers of Keras convert numbers to float32

    def model_of(self, problem: Problem) -> nn.Module:
        model = model_of(self, problem, self._traced)
        self.set_again(problem)
        self.trained = model.trainable_variables
        if problem.training:
            self._loss = self.loss_function(LOSSES, lambda outputs: main_output(outputs).float())
        return KerasModule(model)

    def called(self, module: Any, inputs: Any) -> Any:
        """Return the whole output. Keras takes inputs by name as one mapping."""
        return module(inputs)

    def of_data(self, array: torch.Tensor) -> Any:
        return super().of_data(array.permute(0, 2, 3, 1).contiguous() if array.dim() == 4 else array)

    def _traced(self, model: keras.Model, item: Any, shown: str) -> Trace:
        module, inputs = KerasModule(model), tensors(item)
        return trace(shown, module, lambda: module(inputs), with_gradients=self.freezes)
