"""Compare the first steps of a training with the definition of its optimizer, in float64.

Each step starts from the weights and gradients of the framework, so that errors do not add up. The L2 norm of the
difference is judged: weights are rounded to float32, and the betas of some frameworks, too.
"""

import time
from copy import deepcopy
from dataclasses import replace
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence

import numpy

from ....core.frameworks import TRAINING
from ....core.validation.result import FAILED, PASSED, UpdateCheck, Validation
from ....models.network_reference import without_dropout
from ....models.reference.update import ReferenceUpdate
from ...frameworks.adapter import Adapter, Batch
from ...workload.problem import Problem
from .array_errors import finite
from .network_limits import LOOSE
from .numbered import copied

STEPS = 3  # the states of an optimizer are those of the start in the first step only
ROUNDING = 2.0**-22  # of the weights: four units of rounding of float32
OF_CHANGE = 1e-4  # of the change of the weights
OF_GRADIENTS = 4  # times the effect of the difference between two gradients of the same weights and batch
Arrays = List["numpy.ndarray"]


class Compared(NamedTuple):
    """The difference of the weights after a step from the reference, as L2 norm."""

    error: float  # over the change of the weights in this step
    ratio: float  # to its tolerance


class Step(NamedTuple):
    """The weights before and after a step, those of the reference, and the effect of gradients that vary."""

    before: Arrays
    after: Arrays
    expected: Arrays
    varied: float  # L2 norm


def with_updates(validation: Validation, adapter: Adapter, problem: Problem) -> Validation:
    """Return the validation of a network with the check of the updates of its training, which can fail, too.

    Other tasks do not update weights. If the network itself did not pass, its gradients are not a basis for a check.
    """
    if validation.verdict != PASSED or problem.parameters["task"] != TRAINING:
        return validation
    start = time.monotonic()
    check = check_updates(adapter, problem)
    validation = replace(validation, update=check)
    if check.is_wrong:
        validation = replace(validation, verdict=FAILED, reason=_wrong(check, problem.optimizer.name))
    return replace(validation, duration_s=(validation.duration_s or 0.0) + time.monotonic() - start)


def check_updates(adapter: Adapter, problem: Problem) -> UpdateCheck:
    """Return the comparison of the first steps of a training, on one batch of synthetic input, with its optimizer."""
    network: Any = adapter.build(replace(problem, layers=without_dropout(problem.layers)))
    network.make_deterministic()
    batch = network.on_device(*network.synthetic_batch(problem))
    found: List[Compared] = []
    for step in _steps(network, [batch] * problem.batches_per_step, ReferenceUpdate(problem.optimizer)):
        change, size = _distance(step.expected, step.before), _norm(step.expected)
        if not numpy.isfinite(size):
            return _judged(found, "the weights are not finite after step %d" % (len(found) + 1))
        if ROUNDING * size > LOOSE * change:
            reason = "step %d changes the weights by %.2g of their norm, too little to detect errors"
            return _judged(found, reason % (len(found) + 1, change / size))
        error = _distance(step.after, step.expected)
        tolerance = ROUNDING * size + OF_CHANGE * change + OF_GRADIENTS * step.varied
        found.append(Compared(error / change, error / tolerance))
    return _judged(found)


def _steps(network: Any, batches: Sequence[Batch], reference: ReferenceUpdate) -> Iterator[Step]:
    before = copied(network.weights())
    for _ in range(STEPS):
        gradients, others = _gradients(network, batches), _gradients(network, batches)
        varied = None if _equal(gradients, others) else deepcopy(reference)
        expected = reference.next(before, gradients)
        effect = _distance(expected, varied.next(before, others)) if varied else 0.0
        network.learn(batches)
        after = copied(network.weights())
        yield Step(before, after, expected, effect)
        before = after


def _gradients(network: Any, batches: Sequence[Batch]) -> Arrays:
    network.differentiate(batches)
    return copied(network.gradients())


def _judged(found: Sequence[Compared], reason: Optional[str] = None) -> UpdateCheck:
    """Return the check of the steps that were compared, and why it has not more of them."""
    if not found:
        return UpdateCheck(0, reason=reason)
    worst = max(range(len(found)), key=lambda step: numpy.nan_to_num(found[step].ratio, nan=numpy.inf))
    error, ratio = found[worst]
    return UpdateCheck(len(found), worst + 1, finite(error), finite(ratio), reason)


def _wrong(check: UpdateCheck, optimizer: str) -> str:
    weights = "the weights after step %s" % check.worst_step
    if check.error is None:
        return weights + " are not finite"
    return "%s differ from the definition of %s by %.2g of their change in this step" % (
        weights,
        optimizer,
        check.error,
    )


def _equal(arrays: Arrays, others: Arrays) -> bool:
    return all(numpy.array_equal(one, other) for one, other in zip(arrays, others))


def _distance(arrays: Arrays, others: Arrays) -> float:
    return _norm([numpy.asarray(one, numpy.float64) - other for one, other in zip(arrays, others)])


def _norm(arrays: Arrays) -> float:
    return float(numpy.sqrt(sum(float((each**2).sum()) for each in arrays)))
