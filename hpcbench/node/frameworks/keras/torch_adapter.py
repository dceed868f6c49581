"""The adapter of Keras on PyTorch."""

from ...workload.problem import Problem
from .. import capabilities
from ..computation import Computation
from ..pytorch.adapter import PyTorch
from .external.torch_network import ExternalKerasTorchNetwork
from .layers import KERAS
from .on_torch import KerasTorchNetwork
from .operators_on_torch import KerasTorchOperator


class KerasTorch(PyTorch):
    """The adapter of Keras on PyTorch."""

    name = "keras-torch"
    packages = ("keras", "torch", "numpy")
    libraries = (KERAS, *PyTorch.libraries)
    network = KerasTorchNetwork
    external = ExternalKerasTorchNetwork
    operator = KerasTorchOperator
    has_collectives = False

    def build(self, problem: Problem) -> Computation:
        capabilities.refuse_unscaled_float16(problem)
        return super().build(problem)


ADAPTER = KerasTorch()
