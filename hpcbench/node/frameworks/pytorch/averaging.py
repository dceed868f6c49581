"""Strategies whose ranks update weights of their own, and average the weights instead of gradients.

- local_sgd: the mean over all ranks, every `averaging_period` steps (Stich, 2019, "Local SGD converges fast and
  communicates little", algorithm 1)
- neighbors: after each step, the mean of a rank's weights and those of its left and right neighbor in a ring (Lian et
  al., 2017, "Can decentralized algorithms outperform centralized algorithms?", section 3, with weights 1/3). With two
  ranks, both neighbors are the same rank, and the weights are 1/2. The mean is taken after the update.

Optimizer states and batch-norm statistics are not averaged.
"""

from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List

import torch
import torch.distributed as dist
from torch.distributed.algorithms.model_averaging.utils import average_parameters

from ....core.frameworks import LOCAL_SGD, NEIGHBORS
from ...workload.problem import Problem


class Averaging:
    """The averaging of the weights of a model, after each step."""

    def __init__(self, model: Any, problem: Problem) -> None:
        self.weights = trained(model)
        self.average = AVERAGES[problem.parameters["strategy"]]
        self.period = problem.averaging_period
        self.steps = 0

    def after_step(self) -> None:
        """Average the weights, if it is time."""
        self.steps += 1
        if self.steps % self.period == 0:
            self.average(self.weights)


@contextmanager
def mean_weights(model: Any) -> Iterator[None]:
    """Give the model the mean weights of all ranks, and then its own again."""
    weights = trained(model)
    own = [weight.detach().clone() for weight in weights]
    _mean(weights)
    yield
    _set(weights, own)


def trained(model: Any) -> List[torch.Tensor]:
    """Return the trainable weights of a model."""
    return [weight for weight in model.parameters() if weight.requires_grad]


def _mean(weights: List[torch.Tensor]) -> None:
    arguments: Any = (iter(weights), dist.group.WORLD)  # its annotations demand an iterator of parameters
    average_parameters(*arguments)


def _mean_of_neighbors(weights: List[torch.Tensor]) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    own = torch.cat([weight.detach().reshape(-1) for weight in weights])
    others = sorted({(rank - 1) % size, (rank + 1) % size} - {rank})
    received = [torch.empty_like(own) for _ in others]
    operations = [dist.P2POp(dist.isend, own, other) for other in others]
    operations += [dist.P2POp(dist.irecv, array, other) for array, other in zip(received, others)]
    if operations:
        for request in dist.batch_isend_irecv(operations):
            request.wait()
    mean = sum(received, own) / (1 + len(received))
    parts = mean.split([weight.numel() for weight in weights])
    _set(weights, [part.view_as(weight) for part, weight in zip(parts, weights)])


@torch.no_grad()
def _set(weights: List[torch.Tensor], values: List[torch.Tensor]) -> None:
    for weight, value in zip(weights, values):
        weight.copy_(value)


AVERAGES: Dict[str, Callable[[List[torch.Tensor]], None]] = {LOCAL_SGD: _mean, NEIGHBORS: _mean_of_neighbors}
