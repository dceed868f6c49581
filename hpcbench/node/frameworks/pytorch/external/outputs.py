"""The output of an external model that its loss uses, the losses by name, and synthetic targets."""

from typing import Any, Callable, Dict, Mapping, Sequence, Tuple

import numpy
import torch
from torch.nn import functional

from .....models.initial_weights import Numbers
from .....models.losses import BINARY_CROSS_ENTROPY, CROSS_ENTROPY, L1, MSE
from ....errors import BadModel

_IMAGES = 4  # dimensions of logits for each pixel: (batch, classes, height, width)


def main_output(outputs: Any) -> torch.Tensor:
    """Return the tensor of a model's output that is compared with the targets.

    It is the output itself, its `logits`, its `out` (segmentation), otherwise its first tensor. Raise BadModel if it
    has none.
    """
    if isinstance(outputs, torch.Tensor):
        return outputs
    for name in ("logits", "out"):
        found = outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)
        if isinstance(found, torch.Tensor):
            return found
    values = outputs.values() if isinstance(outputs, Mapping) else outputs if isinstance(outputs, Sequence) else ()
    for value in values:
        if isinstance(value, torch.Tensor):
            return value
    raise BadModel("the model returned an object of type %s without a tensor" % type(outputs).__name__)


def classes_dimension(dimensions: int) -> int:
    """Return the dimension of the classes: 1 of (batch, classes, height, width), otherwise the last one."""
    return 1 if dimensions == _IMAGES else dimensions - 1


def cross_entropy(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy of logits and class indices, which have the shape without the classes."""
    return functional.cross_entropy(output.movedim(classes_dimension(output.dim()), 1), targets)


LOSSES: Dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    CROSS_ENTROPY: cross_entropy,
    MSE: functional.mse_loss,
    L1: functional.l1_loss,
    BINARY_CROSS_ENTROPY: functional.binary_cross_entropy_with_logits,
}


def synthetic_targets(loss: str, shape: Tuple[int, ...], numbers: Numbers) -> "numpy.ndarray":
    """Return targets for an output of `shape`, with the batch first: class indices, or numbers like the output.

    `loss` is the name of a loss, or a function of the user, which gets class indices if the output has classes. Raise
    BadModel for the cross entropy of an output without classes.
    """
    has_classes = len(shape) > 1
    if loss == CROSS_ENTROPY and not has_classes:
        raise BadModel("the output of shape (batch,) has no classes; set `loss_function`, e.g. loss_function: mse")
    if has_classes and loss not in (MSE, L1, BINARY_CROSS_ENTROPY):
        place = classes_dimension(len(shape))
        return numbers.integers(shape[:place] + shape[place + 1 :], shape[place])
    if loss == BINARY_CROSS_ENTROPY:
        return numbers.integers(shape, 2).astype(numpy.float32)
    return numbers.uniform(shape, 3**0.5)
