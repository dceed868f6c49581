"""Run an external model once on the CPU, with one item, to count its FLOPs and to see what it computes."""

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Tuple

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

from ....errors import BadModel
from ...external.trace import Trace, fingerprint
from .flops import counting
from .operations import observed
from .outputs import main_output


def trace(inputs: str, module: nn.Module, call: Callable[[], Any], *, with_gradients: bool) -> Trace:
    """Return the trace of `call`, which runs `module` with one item of `inputs` (a description), in evaluation mode.

    With `with_gradients`, find the parameters that get no gradient; this needs memory for all gradients.
    """
    was_training = module.training
    module.eval()
    try:
        if any(isinstance(weight, UninitializedParameter) for weight in module.parameters()):
            with torch.no_grad():
                call()  # lazy modules get their shapes
        with gradients(module, enabled=with_gradients), counting(module) as count, observed(module) as operations:
            output = main_output(call())
        unused = unused_parameters(module, output) if with_gradients else ()
    finally:
        module.train(was_training)
    shape = tuple(output.shape)
    weights = ["%s %s" % (name, tuple(weight.shape)) for name, weight in module.named_parameters()]
    return Trace(count.total, shape, fingerprint([inputs, *operations, *weights, str(shape)]), unused, count.uncounted)


@contextmanager
def gradients(module: nn.Module, *, enabled: bool) -> Iterator[None]:
    """Turn gradients on or off. If they are off, no weight requires one: the counter reads the graph of its inputs."""
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    for weight in trained:
        weight.requires_grad_(enabled)
    try:
        with torch.set_grad_enabled(enabled):
            yield
    finally:
        for weight in trained:
            weight.requires_grad_(True)


def unused_parameters(module: nn.Module, output: torch.Tensor) -> Tuple[str, ...]:
    """Return the names of the trained parameters without influence on `output`, which has a graph.

    Raise BadModel if none has one.
    """
    if not output.requires_grad:
        raise BadModel("the output of the model does not depend on any of its parameters")
    output.float().sum().backward()
    trained = [(name, weight) for name, weight in module.named_parameters() if weight.requires_grad]
    unused = tuple(name for name, weight in trained if weight.grad is None)
    module.zero_grad(set_to_none=True)
    return unused
