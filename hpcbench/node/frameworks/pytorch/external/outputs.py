"""The output of an external model that its loss uses, and the losses by name."""

from typing import Any, Callable, Dict

import torch
from torch.nn import functional

from .....models.losses import BINARY_CROSS_ENTROPY, CROSS_ENTROPY, L1, MSE
from ...external import outputs

_IMAGES = 4  # dimensions of logits for each pixel: (batch, classes, height, width)


def main_output(output: Any) -> torch.Tensor:
    """Return the tensor of a model's output that is compared with the targets. Raise BadModel if it has none."""
    return outputs.main_output(output, torch.Tensor)


def cross_entropy(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy of logits and class indices, which have the shape without the classes."""
    classes = 1 if output.dim() == _IMAGES else output.dim() - 1
    return functional.cross_entropy(output.movedim(classes, 1), targets)


LOSSES: Dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    CROSS_ENTROPY: cross_entropy,
    MSE: functional.mse_loss,
    L1: functional.l1_loss,
    BINARY_CROSS_ENTROPY: functional.binary_cross_entropy_with_logits,
}
