"""Keras 3 on TensorFlow: Keras' layers, dtypes and optimizer, in TensorFlow's loop and under its strategies.

After the Keras guide "Writing a custom training loop in TensorFlow".
"""

from typing import Any, List, Sequence

import keras

from ....core.frameworks import COMPILED
from ...workload.problem import Problem
from ..tensorflow.adapter import TensorFlowNetwork
from . import layers, optimizers
from .external.structure import recurrent_layers


class KerasModule:
    """A Keras model that takes `training` by position."""

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        self.trainable_variables = model.trainable_variables

    def __call__(self, inputs: Any, training: bool) -> Any:
        return self.model(inputs, training=training)


class KerasTensorFlowNetwork(TensorFlowNetwork):
    """A network of Keras layers in TensorFlow's loop."""

    def model_of(self, problem: Problem) -> KerasModule:
        return self.module_of(layers.model_of(problem), problem)

    def module_of(self, model: keras.Model, problem: Problem) -> KerasModule:
        """Return a model as TensorFlow's loop calls it."""
        if problem.parameters["execution"] == COMPILED:
            for layer in recurrent_layers(model):
                layer.use_cudnn = False  # XLA cannot compile it
        return KerasModule(model)

    def optimizer_of(self, problem: Problem, variables: Sequence[Any]) -> Any:
        updates = optimizers.Updates(problem.optimizer, variables)
        # TensorFlow's loop has averaged the gradients; Keras would sum them over the ranks again.
        updates.optimizer._all_reduce_sum_gradients = list
        return updates

    def remarks(self) -> List[str]:
        if self.problem.parameters["execution"] == COMPILED:
            return super().remarks()
        return []  # Keras uses cuDNN's LSTM
