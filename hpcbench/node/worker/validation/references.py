"""The reference results of a request: values in float64 with the bounds of their rounding errors."""

from typing import Dict, Sequence

import numpy

from ....models.operators.operator import FORWARD, INDEX
from ....models.operators.reference import result_of
from ....models.reference.gradients import gradients
from ....models.reference.variable import ROUNDINGS, Variable
from ...frameworks.operator_call import OUTPUT, Arrays, Request


def references_of(request: Request, of_others: Sequence[Arrays] = (), with_output: bool = False) -> Dict[str, Variable]:
    """Return the reference of each result of a request, by name, and with gradients also of the output if asked for.

    `of_others` are the arrays of the other ranks, for a collective operator. Raise NotImplementedError for an operator
    whose result is random.
    """
    rounding, described = ROUNDINGS[request.dtype], request.operator.arrays()
    arrays, indices = {}, {}
    for name, array in request.arrays.items():
        if described[name].role == INDEX:
            indices[name] = array
        else:
            arrays[name] = Variable(array.astype(numpy.float64), rounding)
    for rank, others in enumerate(of_others):
        arrays.update(
            {"%s of %d" % (name, rank): Variable(others[name].astype(numpy.float64), rounding) for name in others}
        )
    result = result_of(request.operator, arrays, indices)
    if request.phase == FORWARD:
        return {OUTPUT: result}
    cotangent = Variable(numpy.asarray(request.cotangent, numpy.float64), rounding)
    found = gradients(result, cotangent, [arrays[name] for name in request.wanted])
    return {**({OUTPUT: result} if with_output else {}), **dict(zip(request.wanted, found))}
