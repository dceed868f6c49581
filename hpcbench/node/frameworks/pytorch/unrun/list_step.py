"""List the operators of a step of a case that does not run."""

from contextlib import nullcontext
from typing import List

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .....core.frameworks import BACKWARD
from .....core.profiling.operator_list import ListedOperator, OperatorList
from ....workload.problem import Problem
from ..network import PyTorchNetwork
from ..profiler.listing import Listed, Step, listed
from ..profiler.step import observable, step_of
from .cuda_dropout import cuda_dropout
from .networks import BFLOAT16, FLOAT16, network_of
from .without_dynamo import put_off


def operators_of(problem: Problem) -> OperatorList:
    """Return the operators of the eager step of a case, on the CPU, without its memory and time.

    Raise an error of hpcbench or PyTorch if the network cannot be built, or if its step depends on values of tensors.
    """
    put_off()
    with FakeTensorMode(allow_non_fake_inputs=True), cuda_dropout() if problem.on_gpu else nullcontext():
        network = network_of(problem)
        step = _step(network)
        if problem.training:
            _first_update(network)
        found = listed(step)
    as_float16 = problem.on_gpu and problem.parameters["dtype"] == FLOAT16
    operators = [_as_data(each, as_float16) for each in found]
    return OperatorList("", operators=operators, parameter_count=network.parameter_count)


def _step(network: PyTorchNetwork) -> Step:
    seen = observable(network)
    step = step_of(seen)
    return step._replace(run=seen.backward) if network.problem.parameters["task"] == BACKWARD else step


def _first_update(network: PyTorchNetwork) -> None:
    """Take a first step of the optimizer alone, which creates its state."""
    optimizer = network.update.optimizer
    weights: List[torch.Tensor] = [weight for group in optimizer.param_groups for weight in group["params"]]
    for weight in weights:
        weight.grad = torch.empty_like(weight)
    optimizer.step()
    optimizer.zero_grad()


def _as_data(listed: Listed, as_float16: bool) -> ListedOperator:
    """Return an operator for the login node; with `as_float16`, bfloat16 becomes float16."""
    is_renamed = as_float16 and listed.dtype == BFLOAT16
    return ListedOperator(
        kind=listed.kind,
        operator=listed.key.operator,
        phase=listed.key.phase,
        arguments=listed.key.arguments.replace(BFLOAT16, FLOAT16) if as_float16 else listed.key.arguments,
        calls=listed.calls,
        bytes_moved=listed.bytes_moved,
        weight_bytes=listed.weight_bytes,
        output_bytes=listed.output_bytes,
        is_view=listed.is_view,
        dtype=FLOAT16 if is_renamed else listed.dtype,
        flops=listed.flops,
    )
