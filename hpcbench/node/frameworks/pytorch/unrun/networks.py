"""The network of a case as fake tensors: neither its weights nor its input take memory or time."""

from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ContextManager, Dict, Iterator

import numpy
import torch
from torch import nn

from .....core.frameworks import EAGER
from .....models.initial_weights import InitialWeights, Numbers
from .....models.layers import Weight
from .....models.source import Source, source_of
from ....workload.problem import Problem
from ...external.trace import Trace
from ..external import build
from ..external.built import Built
from ..external.network import ExternalPyTorchNetwork
from ..external.outputs import main_output
from ..network import PyTorchNetwork
from .cuda_autocast import CudaAutocast
from .large_on_meta import as_fake, built_small

_DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "int32", "int64", "bool")}
# Parameters that change neither the operators nor their arguments, or that a machine without the device cannot follow.
# The operators of a compiled case are those of its eager step.
_FIXED = {"device": "cpu", "execution": EAGER, "data": None, "weights": None, "strategy": "single"}
# A GPU case in float16 is listed in bfloat16, which has as many bytes: CPUs lack operators in float16, such as LSTMs.
FLOAT16, BFLOAT16 = "float16", "bfloat16"


class UnrunNetwork(PyTorchNetwork):
    """A shipped model as fake tensors, on the CPU. `for_gpu`: with the optimizer and the data types of a GPU."""

    for_gpu = False
    scales_loss = False

    def model_of(self, problem: Problem) -> nn.Module:
        return built_small(lambda: super(UnrunNetwork, self).model_of(problem))

    def placed(self, model: nn.Module, dtype: torch.dtype) -> nn.Module:
        return as_fake(model, dtype)

    def tensor(self, array: "numpy.ndarray") -> torch.Tensor:
        """Return a fake tensor with the shape and dtype of an array."""
        return torch.empty(array.shape, dtype=_DTYPES[array.dtype.name])

    def on_device(self, inputs: Any, labels: "numpy.ndarray") -> Any:
        return self.moved(self.tensors(inputs), self.tensor(labels))

    def tensors(self, arrays: Any) -> Any:
        """Return the inputs of a network as fake tensors: one array, or several by name."""
        if isinstance(arrays, dict):
            return {name: self.tensor(each) for name, each in arrays.items()}
        return self.tensor(arrays)

    def update_of(self, problem: Problem) -> Any:
        update = super().update_of(problem)
        update.scaler = _UncheckedScaler(self.device.type, enabled=self.scales_loss)
        for group in update.optimizer.param_groups if self.for_gpu else ():
            if "foreach" in group:
                group["foreach"] = True  # PyTorch's default on GPUs
        return update

    def autocast(self) -> ContextManager[Any]:
        inner = super().autocast()
        return _both(inner) if self.for_gpu and self.dtype is not torch.float32 else inner


class UnrunExternalNetwork(UnrunNetwork, ExternalPyTorchNetwork):
    """A model of a library or of the user as fake tensors."""

    def model_of(self, problem: Problem) -> nn.Module:
        return ExternalPyTorchNetwork.model_of(self, problem)

    def built(self, source: Source, parameters: Dict[str, Any]) -> Built:
        return built_small(lambda: build.build(source, parameters))

    def traced(self, module: nn.Module, item: Any, shown: str) -> Trace:
        """Return the shape of the output, without FLOPs: those of each operator are listed."""
        as_fake(module.eval(), torch.float32)
        with torch.no_grad():
            output = main_output(self.called(module, self.tensors(item)))
        return Trace(0, tuple(output.shape), "")


@contextmanager
def _both(autocast: ContextManager[Any]) -> Iterator[None]:
    with autocast, CudaAutocast():
        yield


class _UncheckedScaler(torch.amp.GradScaler):
    """A scaler that takes each step: gradients without data cannot be tested for infinities."""

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: Any, *args: Any, **kwargs: Any) -> Any:
        return optimizer.step(*args, **kwargs)


class _Undrawn(InitialWeights):
    """Initial weights without memory."""

    def _draw(self, weight: Weight) -> "numpy.ndarray":
        return _one_zero(weight.shape, numpy.float32)


class _UndrawnNumbers(Numbers):
    """Synthetic input without memory."""

    def uniform(self, shape: Any, spread: float, center: float = 0.0) -> "numpy.ndarray":
        return _one_zero(shape, numpy.float32)

    def integers(self, shape: Any, below: int) -> "numpy.ndarray":
        return _one_zero(shape, numpy.int32)


def _one_zero(shape: Any, dtype: Any) -> "numpy.ndarray":
    """Return an array whose elements share one zero in memory."""
    return numpy.lib.stride_tricks.as_strided(numpy.zeros(1, dtype), shape, [0] * len(shape))


def network_of(problem: Problem) -> PyTorchNetwork:
    """Return the network of a case, within a FakeTensorMode. A case on a GPU uses the operators of the CPU.

    Raise an error of hpcbench or PyTorch if the network cannot be built.
    """
    fixed = {**problem.parameters, **_FIXED}
    scales_loss = fixed["dtype"] == FLOAT16
    if problem.on_gpu and scales_loss:
        fixed["dtype"] = BFLOAT16
    unrun = replace(problem, parameters=fixed, initial_weights=_Undrawn, numbers=_UndrawnNumbers)
    is_external = source_of(fixed["model"]).is_external
    kind = UnrunExternalNetwork if is_external else UnrunNetwork
    return type(kind.__name__, (kind,), {"for_gpu": problem.on_gpu, "scales_loss": scales_loss})(unrun)
