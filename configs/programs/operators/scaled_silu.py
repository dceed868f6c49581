"""An operator for hpcbench: y = scale * x * sigmoid(x), as a custom operator of PyTorch.

    hpcbench sweep own-operators --local

hpcbench passes to each function the arguments that it names: sizes, and arrays by the names that `inputs` gives them.
"""

import numpy
import torch
from torch import library

WEIGHTS = ("scale",)  # the other arrays of `inputs` are inputs


def inputs(random, rows=256, columns=1024):
    """Return the arrays as float32, from a seeded numpy.random.RandomState. The other arguments are the sizes."""
    return {"x": random.standard_normal((rows, columns)), "scale": random.uniform(0.5, 1.5, columns)}


@library.custom_op("hpcbench_examples::scaled_silu", mutates_args=())
def scaled_silu(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return scale * (x * torch.sigmoid(x))


@scaled_silu.register_fake
def _(x, scale):
    return torch.empty_like(x)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _backward(ctx, gradient):
    x, scale = ctx.saved_tensors
    gate = torch.sigmoid(x)
    of_x = gradient * scale * gate * (1 + x * (1 - gate))
    return of_x, (gradient * x * gate).sum(0)


scaled_silu.register_autograd(_backward, setup_context=_save)


def forward(x, scale):
    """Return the result. PyTorch's autograd computes the gradients: see `register_autograd` above."""
    return scaled_silu(x, scale)


def reference(x, scale):
    """Return the result by NumPy, in float64."""
    return scale * x / (1 + numpy.exp(-x))


def terms(rows):
    """Return the lengths of sums, for the bounds of rounding errors: the gradient of `scale` is a sum over the rows."""
    return {"scale": rows}
