"""The step of a network of hpcbench, as the profiler runs and lists it."""

import copy
import itertools
from typing import Any, List

from torch import nn

from ..network import PyTorchNetwork
from .listing import Listed, Step, listed, operators_of, weights_of


def eager(network: PyTorchNetwork) -> nn.Module:
    """Return the module of a network, without torch.compile."""
    module: nn.Module = getattr(network.model, "_orig_mod", network.model)
    return module


def step_of(network: PyTorchNetwork) -> Step:
    """Return the step of a case, which takes the next batch."""
    training = network.problem.training
    optimizer = network.update.optimizer if training else None
    return Step(network.train if training else network.infer, lambda: weights_of(eager(network), optimizer))


def without_compiler(network: PyTorchNetwork) -> PyTorchNetwork:
    """Return a network with the same weights that runs its module eagerly."""
    other = copy.copy(network)
    other.model = eager(network)
    return other


def operators(network: PyTorchNetwork) -> List[Listed]:
    """Return the operators of the eager step of a case.

    They are listed without running it, except if the step depends on values: float16 training tests the gradients for
    infinities, and models of users may branch.
    """

    def prepare(module: nn.Module, batch: Any) -> Step:
        other = copy.copy(network)
        other.model, other._batches = module, itertools.repeat(batch)
        if network.problem.training:
            other.update = other.update_of(network.problem)
        return step_of(other)

    batch = next(network._batches)
    try:
        return operators_of(eager(network), batch, prepare)
    except Exception:
        return listed(step_of(without_compiler(network)))
