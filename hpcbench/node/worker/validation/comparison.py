"""The comparison of results with their references, in words and as a map."""

from typing import Dict, Optional

import numpy

from ....core.validation.result import ArrayError, HeatMap
from ....models.reference.variable import Variable
from ...frameworks.operator_call import OUTPUT
from .heat_map import heat_map

LOSS = "loss"
Arrays = Dict[str, "numpy.ndarray"]


def wrong_shape(results: Arrays, references: Dict[str, Variable]) -> Optional[str]:
    """Return which result is missing or has another shape than its reference; None if none has."""
    for name, reference in references.items():
        if name not in results:
            return "%s is missing" % _title(name)
        if results[name].shape != reference.shape:
            return "the shape of %s is %s instead of %s" % (_title(name), results[name].shape, reference.shape)
    return None


def wrong_numbers(worst: ArrayError, found: "numpy.ndarray") -> Optional[str]:
    """Return what is wrong with the array that has the largest ratio to its bound; None if nothing is."""
    if worst.ratio <= 1:
        return None
    title, index = _title(worst.array), tuple(worst.worst)
    place = "at index %s" % list(index)
    if not numpy.isfinite(found[index]):
        return "%s is %s %s" % (title, found[index], place)
    if worst.bound_ratio is None:
        return "%s must be exact, but differs from the reference %s" % (title, place)
    return "the error of %s is %.3g times the bound of rounding errors, %s" % (title, worst.bound_ratio, place)


def error_map(name: str, found: "numpy.ndarray", reference: Variable) -> Optional[HeatMap]:
    """Return where the absolute error of an array is; None for an array of another shape than its reference."""
    same = found.shape == reference.shape
    return heat_map(name, numpy.abs(found - reference.value)) if same else None


def _title(name: str) -> str:
    return {OUTPUT: "the output", LOSS: "the loss"}.get(name, "the gradient of %s" % name)
