"""An external model of Keras on TensorFlow."""

from typing import Any, Iterator

import keras
import numpy
import tensorflow as tf

from ....workload.data import Items
from ....workload.problem import Problem
from ...adapter import Batch
from ...external.network import ExternalNetwork
from ...external.outputs import main_output
from ...external.trace import Trace
from ...tensorflow.settings import set_arithmetic
from ..losses import LOSSES
from ..on_tensorflow import KerasModule, KerasTensorFlowNetwork
from .build import model_of
from .tensorflow_flops import counting

Tensor = Any


class ExternalKerasTensorFlowNetwork(ExternalNetwork, KerasTensorFlowNetwork):
    """A model of keras.applications or of the user's function in TensorFlow's loop."""

    def model_of(self, problem: Problem) -> KerasModule:
        model = model_of(self, problem, _traced)
        set_arithmetic()  # again, since the user's module may have changed it
        if problem.training:
            self._loss = self.loss_function(LOSSES, lambda outputs: tf.cast(_main_output(outputs), tf.float32))
        return self.module_of(model, problem)

    def output(self, inputs: Tensor) -> Tensor:
        """Return the tensor of the output that the loss uses."""
        return _main_output(self.model(inputs, False))

    def loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a batch on the device: the one of `loss_function`."""
        return self._loss(self.model(inputs, True), labels)

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Batch:
        return tf.nest.map_structure(self._input, inputs), tf.constant(labels)

    def pipeline(self, items: Items, forever: bool) -> Iterator[Batch]:
        for inputs, labels in super().pipeline(items, forever):
            yield self.of_data(inputs), labels

    def _input(self, array: "numpy.ndarray") -> Tensor:
        """Return an input; in inference, numbers are in the dtype of the case."""
        tensor = tf.constant(array)
        return tf.cast(tensor, self.dtype) if tensor.dtype.is_floating and not self.problem.training else tensor


def _main_output(outputs: Any) -> Tensor:
    return main_output(outputs, tf.Tensor)


def _traced(model: keras.Model, item: Any, shown: str) -> Trace:
    with counting() as count:
        output = _main_output(model(tf.nest.map_structure(tf.constant, item), training=False))
    return Trace(count.flops, tuple(output.shape), "")
