"""The losses of external models, by name. The shipped models have the cross entropy of classes."""

from typing import Dict

CROSS_ENTROPY = "cross_entropy"
LOSSES: Dict[str, str] = {
    CROSS_ENTROPY: "cross entropy of logits; the classes are dimension 1 of 4, otherwise the last one",
    "mse": "mean squared error",
    "l1": "mean absolute error",
    "binary_cross_entropy": "binary cross entropy of logits",
}
