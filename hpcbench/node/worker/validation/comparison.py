"""The comparison of results with their references, in words and as a map."""

import math
from typing import Dict, Optional

import numpy

from ....core.validation.result import ArrayError, GradientCheck, HeatMap, array_title
from ....models.reference.variable import Variable
from .array_errors import sum_of_squares
from .heat_map import heat_map

LOSS = "loss"
Arrays = Dict[str, "numpy.ndarray"]


def wrong_shape(results: Arrays, references: Dict[str, Variable]) -> Optional[str]:
    """Return which result is missing or has another shape than its reference; None if none has."""
    for name, reference in references.items():
        if name not in results:
            return "%s is missing" % array_title(name)
        if results[name].shape != reference.shape:
            return "the shape of %s is %s instead of %s" % (array_title(name), results[name].shape, reference.shape)
    return None


def wrong_numbers(worst: ArrayError, found: "numpy.ndarray") -> Optional[str]:
    """Return what is wrong with the array that has the largest ratio to its bound; None if nothing is."""
    if worst.ratio <= 1:
        return None
    title, index = array_title(worst.array), tuple(worst.worst)
    place = "at index %s" % list(index)
    if not numpy.isfinite(found[index]):
        return "%s is %s %s" % (title, found[index], place)
    if worst.bound_ratio is None:
        return "%s must be exact, but differs from the reference %s" % (title, place)
    return "the error of %s is %.3g times the bound of rounding errors, %s" % (title, worst.bound_ratio, place)


def error_map(name: str, found: "numpy.ndarray", reference: Variable) -> Optional[HeatMap]:
    """Return where the absolute error of an array is; None for an array of another shape than its reference."""
    if found.shape != reference.shape:
        return None
    difference: numpy.ndarray = found - reference.value
    return heat_map(name, numpy.abs(difference, out=difference if difference.ndim else None))


def wrong_gradients(check: GradientCheck, worst: Optional[str] = None) -> str:
    """Return what is wrong with gradients that failed their check; `worst` is the array whose gradient differs most."""
    if check.error is None:
        return "the gradients, or the central differences, are not finite in %s" % check.dtype
    which = "%s differs" % array_title(worst) if worst else "the gradients differ"
    return "%s from central differences by %.2g times the L2 norm of the gradients" % (which, check.error)


def too_loose(references: Dict[str, Variable], loose: float, hint: str = "") -> Optional[str]:
    """Return a reason if the bounds of rounding errors are so large that results could be wrong unnoticed.

    The bounds over the references, as L2 norms, are compared with `loose`; `hint` says how to make them smaller.
    Single arrays are not judged: the gradient of a bias before a softmax, for example, is 0 without rounding errors.
    """
    arrays = [each for name, each in references.items() if name != LOSS]
    bounds = sum(sum_of_squares(each.error) for each in arrays if each.error is not None)
    squares = sum(sum_of_squares(each.value) for each in arrays)
    if bounds <= loose**2 * squares:
        return None
    if not squares:
        return "all results are 0, with an error bound that is too large to detect errors"
    if not math.isfinite(bounds):
        return "the error bound is not finite, too large to detect errors" + hint
    share = (bounds / squares) ** 0.5
    return "the error bound is %.2g times the norm of the results, too large to detect errors%s" % (share, hint)
