"""The step of a network of hpcbench, as the profiler runs and lists it."""

import copy
import itertools
from typing import Any, List

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from ..network import PyTorchNetwork
from .listing import Listed, Step, listed, operators_of, weights_of


def eager_module(network: PyTorchNetwork) -> nn.Module:
    """Return the module of a network, without torch.compile."""
    module: nn.Module = getattr(network.model, "_orig_mod", network.model)
    return module


def step_of(network: PyTorchNetwork) -> Step:
    """Return the step of a case, which takes the next batch."""
    training = network.problem.training
    optimizer = network.update.optimizer if training else None
    return Step(network.train if training else network.infer, lambda: weights_of(eager_module(network), optimizer))


def compiled_again(network: PyTorchNetwork) -> PyTorchNetwork:
    """Return a network with the same weights whose module is compiled again, at its first step."""
    other = copy.copy(network)
    other.model = torch.compile(eager_module(network), mode=network.problem.parameters["compile_mode"])
    return other


def observable(network: PyTorchNetwork) -> PyTorchNetwork:
    """Return a network with the same weights whose operators a dispatch mode can see: eager, without inference mode.

    In inference mode, views of weights that a dispatch mode returns do not require a gradient, but those of PyTorch
    alone do. Products would then be computed by other operators.
    """
    other = copy.copy(network)
    other.model, other.without_gradients = eager_module(network), torch.no_grad
    return other


def operators(network: PyTorchNetwork, warnings: List[str]) -> List[Listed]:
    """Return the operators of the eager step of a case.

    They are listed without running it, except if the step depends on values: float16 training tests the gradients for
    infinities, and models of users may branch. If the list fails for another reason, run the step, and add a warning.
    """

    def prepare(module: nn.Module, batch: Any) -> Step:
        other = observable(network)
        other.model, other._batches = module, itertools.repeat(batch)
        if network.problem.training:
            other.update = other.update_of(network.problem)
        return step_of(other)

    try:
        return operators_of(eager_module(network), next(network._batches), prepare)
    except (DataDependentOutputException, DynamicOutputShapeException):
        pass
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        cause = "%s: %s" % (type(error).__name__, first)
        warnings.append("profile: the operators are those of a step that ran; without running it: %s" % cause)
    return listed(step_of(observable(network)))
