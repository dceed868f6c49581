"""Keras 3 on TensorFlow: Keras' layers, dtypes and optimizer, in TensorFlow's loop and under its strategies.

After the Keras guide "Writing a custom training loop in TensorFlow".
"""

from typing import Any, Iterator, List, Sequence

import keras

from ....core.frameworks import COMPILED
from ...workload.problem import Problem
from ..tensorflow.adapter import TensorFlow, TensorFlowNetwork
from . import layers, optimizers


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
        model = layers.model_of(problem)
        if problem.parameters["execution"] == COMPILED:
            for lstm in _lstms(model):
                lstm.use_cudnn = False  # XLA cannot compile it
        return KerasModule(model)

    def optimizer_of(self, problem: Problem, variables: Sequence[Any]) -> Any:
        return optimizers.Updates(problem.optimizer, variables)

    def remarks(self) -> List[str]:
        if self.problem.parameters["execution"] == COMPILED:
            return super().remarks()
        return []  # Keras uses cuDNN's LSTM


def _lstms(model: keras.Model) -> Iterator[keras.layers.LSTM]:
    for layer in model.layers:
        both_ways = isinstance(layer, keras.layers.Bidirectional)
        for part in (layer.forward_layer, layer.backward_layer) if both_ways else (layer,):
            if isinstance(part, keras.layers.LSTM):
                yield part


class KerasTensorFlow(TensorFlow):
    """The adapter of Keras on TensorFlow."""

    name = "keras-tensorflow"
    packages = ("keras", "tensorflow", "tensorflow-cpu", "numpy")
    libraries = (layers.KERAS, *TensorFlow.libraries)
    network = KerasTensorFlowNetwork


ADAPTER = KerasTensorFlow()
