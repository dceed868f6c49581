"""The result of the validation of an operator, a network, or the data of a training, as a part of records.

JSON has no infinite numbers: numbers that are not finite are null, with a reason.
"""

import math
from dataclasses import dataclass
from typing import Mapping, Optional, Sequence

from ..record_field import described

PASSED, FAILED, NOT_VALIDATED = "passed", "failed", "not validated"
_TITLES = {"output": "the output", "loss": "the loss"}  # of arrays that are not gradients


def array_title(array: str) -> str:
    """Return the name of an array in a sentence: of the output, the loss, or the gradient of another array."""
    return _TITLES.get(array, "the gradient of %s" % array)


@dataclass(frozen=True)
class ArrayError:
    """The difference between an array and its reference in float64. Relative norms are divided by the reference's."""

    array: str = described("array with this error: `output`, or the array whose gradient it is", "error_array")
    l1: Optional[float] = described("L1 norm of the difference", "error_l1")
    l2: Optional[float] = described("L2 norm of the difference", "error_l2")
    max: Optional[float] = described("largest absolute difference", "error_max")
    relative_l1: Optional[float] = described(
        "L1 norm of the difference over that of the reference", "error_relative_l1"
    )
    relative_l2: Optional[float] = described(
        "L2 norm of the difference over that of the reference", "error_relative_l2"
    )
    relative_max: Optional[float] = described(
        "largest absolute difference over the largest absolute value of the reference", "error_relative_max"
    )
    ulps: Optional[float] = described("largest difference in units in the last place of the data type", "error_ulps")
    bound_ratio: Optional[float] = described(
        "largest ratio of a difference to its bound of rounding errors; above 1, the result is wrong",
        "error_bound_ratio",
    )
    worst: Sequence[int] = described("indices of the element with the largest ratio to its bound", default=())
    reason: Optional[str] = described("why errors are null: they are not finite", "error_reason", default=None)

    @property
    def ratio(self) -> float:
        """Return the largest ratio to the bound, which is infinite if the record has none."""
        return math.inf if self.bound_ratio is None else self.bound_ratio


@dataclass(frozen=True)
class GradientCheck:
    """Gradients compared with central differences of the forward pass, along random directions."""

    dtype: str = described("data type of the check", "gradient_check_dtype")
    directions: int = described("number of directions")
    error: Optional[float] = described(
        "largest difference between a directional derivative and the gradient, over the norm of the gradient; null if "
        "it is not finite",
        "gradient_check_error",
    )
    reason: Optional[str] = described("why the check is not in float64", default=None)
    execution: Optional[str] = described("execution of the check, if it differs from that of the case", default=None)


@dataclass(frozen=True)
class UpdateCheck:
    """The weights after the first steps of a training, compared with the definition of its optimizer in float64."""

    steps: int = described("number of steps whose updates of the weights were compared", "update_steps")
    worst_step: Optional[int] = described("step with the largest ratio to its tolerance, from 1", default=None)
    error: Optional[float] = described(
        "difference of the weights from the definition of the optimizer, over their change, as L2 norms, in the step "
        "with the largest ratio to its tolerance; null if not finite, or if no step was compared",
        "update_error",
        default=None,
    )
    bound_ratio: Optional[float] = described(
        "ratio of that difference to its tolerance; above 1, the update is wrong", "update_bound_ratio", default=None
    )
    reason: Optional[str] = described("why fewer than three steps were compared", "update_reason", default=None)
    worst_shape: Sequence[int] = described(
        "shape of the weight tensor with that ratio; empty if it is that of all weights together", default=()
    )

    @property
    def is_wrong(self) -> bool:
        """Return whether a step differs by more than its tolerance, or is not finite."""
        return self.steps > 0 and (self.bound_ratio is None or self.bound_ratio > 1)


@dataclass(frozen=True)
class Repeatability:
    """Whether calls with the same input return the same bits."""

    calls: int = described("number of calls")
    bitwise: bool = described("whether all calls returned the same bits", "bitwise_repeatable")
    largest_difference: Optional[float] = described(
        "largest difference between two calls; null if it is not finite", "repeat_difference"
    )
    thread_counts: Sequence[int] = described("numbers of intra-op threads whose results were compared", default=())
    threads_bitwise: Optional[bool] = described(
        "whether all thread counts returned the same bits; null if the framework cannot change the count",
        "threads_bitwise_repeatable",
        default=None,
    )
    threads_difference: Optional[float] = described("largest difference between thread counts", default=None)
    reason: Optional[str] = described("why a difference is null", default=None)


@dataclass(frozen=True)
class HeatMap:
    """A map of an array of which each cell is the largest value of a block of elements."""

    array: str = described("array of the map")
    shape: Sequence[int] = described("shape of the array as a matrix: all dimensions but the last are joined")
    rows: Sequence[Sequence[Optional[float]]] = described("values of the cells, row by row; null if not finite")


@dataclass(frozen=True)
class DataCheck:
    """The items of one epoch over all ranks, compared with the training split of the data."""

    epochs: int = described("epochs that were checked")
    items: int = described("items that the pipelines of all ranks delivered in an epoch")
    repeated_items: int = described(
        "items delivered more often than the training split has them, or not from it, in the worst epoch",
        "repeated_items",
    )
    missing_items: int = described(
        "items not delivered, in the worst epoch, except those of incomplete batches", "missing_items"
    )
    dropped_items: int = described(
        "items per epoch that are left over after whole batches for each rank", "dropped_items"
    )
    reshuffled: Optional[bool] = described(
        "whether each epoch has a new order, on each rank; null if no rank has at least 10 different items",
        "reshuffled",
    )
    class_counts: Sequence[Sequence[Sequence[int]]] = described(
        "items of each class, by epoch and rank; empty if an item has several labels", default=()
    )
    split_class_counts: Sequence[int] = described("items of each class in the training split", default=())


@dataclass(frozen=True)
class Validation:
    """Whether the results of an operator or network, or the data of a training, are correct, with the evidence."""

    verdict: str = described("`passed`, `failed` or `not validated`", "validation")
    reason: Optional[str] = described("why it failed or was not validated", "validation_reason", default=None)
    worst: Optional[ArrayError] = described("array with the largest ratio to its bound", default=None)
    arrays: Optional[Mapping[str, ArrayError]] = described("error of each array, by name", default=None)
    gradient_check: Optional[GradientCheck] = described("gradient check", default=None)
    update: Optional[UpdateCheck] = described("check of the updates of a training", default=None)
    repeatability: Optional[Repeatability] = described("repeatability", default=None)
    error_map: Optional[HeatMap] = described("where the absolute error of the worst array is", default=None)
    variance_map: Optional[HeatMap] = described(
        "where the variance over the calls is; null if all calls are equal", default=None
    )
    data: Optional[DataCheck] = described("check of the data of a training", default=None)
    checksum: Optional[int] = described("CRC-32 of the results", "result_crc32", default=None)
    duration_s: Optional[float] = described("time of the validation", "validation_s", "s", default=None)
