"""The validation of operators whose results are random: their properties, instead of a reference."""

import math
from typing import Dict, Optional

import numpy

from ....models.operators.operator import FORWARD
from ....models.operators.pointwise import Dropout
from ....models.reference.variable import ROUNDINGS
from ...frameworks.operator_call import Request

_DEVIATIONS = 6.0  # of a binomial distribution, which a correct operator exceeds once in 1e9 calls
_ROUNDINGS = 8.0  # more than those of x, of 1 / (1 - rate) and of their product


def what_is_wrong(
    request: Request, results: "Dict[str, numpy.ndarray]", forward: "Optional[numpy.ndarray]" = None
) -> Optional[str]:
    """Return what is wrong with the results of dropout: kept values are scaled, and the fraction of zeros is the rate.

    A gradient must drop the same elements as `forward`, the result of its forward pass, if that is known. Return None
    if nothing is wrong.
    """
    operator = request.operator
    assert isinstance(operator, Dropout)  # noqa: S101 - the only random operator
    (found,) = results.values()
    source = request.arrays["x"] if request.phase == FORWARD else request.cotangent
    if found.shape != source.shape:
        return "the shape of the result is %s instead of %s" % (found.shape, source.shape)
    expected = source.astype(numpy.float64) / (1 - operator.rate)
    kept = found != 0
    tolerance = _ROUNDINGS * ROUNDINGS[request.dtype].results * numpy.abs(expected)
    wrong = kept & ~(numpy.abs(found - expected) <= tolerance)  # also if it is not a number
    if wrong.any():
        return "%d of %d elements that dropout keeps are not x / (1 - rate)" % (int(wrong.sum()), int(kept.sum()))
    if request.phase != FORWARD and forward is not None:
        visible = (source != 0) & (request.arrays["x"] != 0)
        others = int((visible & (kept != (forward != 0))).sum())
        if others:
            return "the gradient and the forward pass drop different elements: %d of %d" % (others, found.size)
    share = 1 - float(kept.mean())
    deviation = math.sqrt(operator.rate * (1 - operator.rate) / found.size)
    if abs(share - operator.rate) > _DEVIATIONS * deviation + 1 / found.size:
        return "the fraction of zeros is %.4f, but the rate is %g" % (share, operator.rate)
    return None
