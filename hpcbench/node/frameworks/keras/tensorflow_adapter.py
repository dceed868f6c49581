"""The adapter of Keras on TensorFlow."""

from ..tensorflow.adapter import TensorFlow
from .external.tensorflow_network import ExternalKerasTensorFlowNetwork
from .layers import KERAS
from .on_tensorflow import KerasTensorFlowNetwork
from .operators_on_tensorflow import KerasTensorFlowOperator


class KerasTensorFlow(TensorFlow):
    """The adapter of Keras on TensorFlow."""

    name = "keras-tensorflow"
    packages = ("keras", "tensorflow", "tensorflow-cpu", "numpy")
    libraries = (KERAS, *TensorFlow.libraries)
    network = KerasTensorFlowNetwork
    external = ExternalKerasTensorFlowNetwork
    operator = KerasTensorFlowOperator


ADAPTER = KerasTensorFlow()
