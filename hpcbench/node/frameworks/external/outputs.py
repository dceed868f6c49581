"""The output of an external model that its loss uses, and synthetic targets."""

from typing import Any, Mapping, Sequence, Tuple

import numpy

from ....models.initial_weights import Numbers
from ....models.losses import BINARY_CROSS_ENTROPY, CROSS_ENTROPY, L1, MSE
from ...errors import BadModel


def main_output(outputs: Any, kind: Any) -> Any:
    """Return the tensor, an instance of `kind`, of a model's output that is compared with the targets.

    It is the output itself, its `logits`, its `out` (segmentation), otherwise its first tensor. Raise BadModel if it
    has none.
    """
    if isinstance(outputs, kind):
        return outputs
    for name in ("logits", "out"):
        found = outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)
        if isinstance(found, kind):
            return found
    values = outputs.values() if isinstance(outputs, Mapping) else outputs if isinstance(outputs, Sequence) else ()
    for value in values:
        if isinstance(value, kind):
            return value
    raise BadModel("the model returned an object of type %s without a tensor" % type(outputs).__name__)


def synthetic_targets(loss: str, shape: Tuple[int, ...], classes_dimension: int, numbers: Numbers) -> "numpy.ndarray":
    """Return targets for an output of `shape`, with the batch first: class indices, or numbers like the output.

    `loss` is the name of a loss, or a function of the user, which gets class indices if the output has classes. Raise
    BadModel for the cross entropy of an output without classes.
    """
    has_classes = len(shape) > 1
    if loss == CROSS_ENTROPY and not has_classes:
        raise BadModel("the output of shape (batch,) has no classes; set `loss_function`, e.g. loss_function: mse")
    if has_classes and loss not in (MSE, L1, BINARY_CROSS_ENTROPY):
        place = classes_dimension
        return numbers.integers(shape[:place] + shape[place + 1 :], shape[place])
    if loss == BINARY_CROSS_ENTROPY:
        return numbers.integers(shape, 2).astype(numpy.float32)
    return numbers.uniform(shape, 3**0.5)
