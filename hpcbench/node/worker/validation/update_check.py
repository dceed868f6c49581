"""Compare the first steps of a training with the definition of its optimizer, in float64.

Each step starts from the weights and gradients of the framework, so that errors do not add up. The L2 norm of the
difference is judged, of each weight tensor and of all: weights are rounded to float32, and the betas of some
frameworks, too.

Adaptive optimizers turn gradients that are 0 except for rounding, such as that of the bias of keys in attention, into
whole updates. These gradients differ if a framework compiles a step and its gradients separately. The same batch in
reverse order shows them, and their weights are not compared.
"""

import math
import time
from copy import deepcopy
from dataclasses import replace
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy

from ....core.frameworks import TRAINING
from ....core.validation.result import FAILED, UpdateCheck, Validation
from ....models.network_reference import without_dropout
from ....models.optimizers import LAMB
from ....models.reference.update import ReferenceUpdate
from ...frameworks.adapter import Adapter, Batch, Network
from ...workload.problem import Problem
from .array_errors import finite, sum_of_squares
from .network_limits import LOOSE, MOST_WEIGHTS, why_not_alone
from .numbered import copied

STEPS = 3  # the states of an optimizer are those of the start in the first step only
LIMIT_S = 60.0  # after which no further step is compared: large batches have no other limit
ROUNDING = 2.0**-22  # of the weights: four units of rounding of float32
OF_CHANGE = 1e-4  # of the change of the weights
OF_NORM = 2.0**-29  # of the change, for each element of the largest tensor: PyTorch's clipping adds squares in float32
OF_GRADIENTS = 4  # times the effect of the difference between two gradients of the same weights and items
NOISE = 100  # times the root mean square of that difference: smaller gradients may be rounding errors
_TOO_SMALL = "step %d changes the weights that can be compared by %.2g of the norm of all, too little to detect errors"
Arrays = List["numpy.ndarray"]


class Tensor(NamedTuple):
    """A weight tensor before and after a step, and after the reference step, for two orders of the items of a batch."""

    before: "numpy.ndarray"
    after: "numpy.ndarray"
    expected: "numpy.ndarray"
    reordered: "numpy.ndarray"
    gradient: "numpy.ndarray"
    reordered_gradient: "numpy.ndarray"

    def compared(self) -> "numpy.ndarray":
        """Return which elements are compared: none if the loss does not depend on the tensor and the step keeps it."""
        gradient, other = self.gradient, self.reordered_gradient
        if not (gradient.any() or other.any()) and numpy.array_equal(self.before, self.after):
            return numpy.zeros(gradient.shape, bool)
        noise = math.sqrt(sum_of_squares(gradient - other) / max(gradient.size, 1))
        has_gradient = (gradient != 0) | (other != 0)
        is_unused = ~has_gradient.any(axis=-1, keepdims=True)  # such as the row of a token that is not in the batch
        found: "numpy.ndarray" = (numpy.abs(gradient) >= NOISE * noise) | is_unused | ~numpy.isfinite(self.after)
        return found


class Norms(NamedTuple):
    """L2 norms of a weight tensor, or of all, in a step. All but `size` are over the elements that are compared."""

    shape: Tuple[int, ...]  # () for all tensors
    size: float  # of the weights of the reference
    change: float  # from the weights before to those of the reference
    error: float  # from the reference to the weights after
    varied: float  # from the reference to that for the other order of items

    def ratio(self, share: float) -> float:
        """Return the ratio of the error to its tolerance, which includes a share of the change."""
        return self.error / (ROUNDING * self.size + share * self.change + OF_GRADIENTS * self.varied)

    @property
    def is_too_small(self) -> bool:
        """Return whether the change is too small to detect errors of the fraction LOOSE."""
        return ROUNDING * self.size >= LOOSE * self.change


def with_updates(validation: Validation, adapter: Adapter, network: Network) -> Validation:
    """Return the validation of a network with the check of the updates of its training, which can fail, too.

    Gradients without a reference are a basis for this check, too, but not wrong ones.
    """
    problem = network.problem
    if validation.verdict == FAILED or not _has_updates(network):
        return validation
    start = time.monotonic()
    try:
        check = check_updates(adapter, problem)
    except Exception as error:
        if not ran_out_of_memory(adapter, error):
            raise
        check = UpdateCheck(0, reason="the check of the updates ran out of memory")
    validation = replace(validation, update=check)
    if check.is_wrong:
        validation = replace(validation, verdict=FAILED, reason=_wrong(check, problem.optimizer.name))
    return replace(validation, duration_s=(validation.duration_s or 0.0) + time.monotonic() - start)


def _has_updates(network: Network) -> bool:
    """Return whether the updates of a network can be compared. Those of a function of the user cannot."""
    parameters = network.problem.parameters
    is_alone = parameters["task"] == TRAINING and why_not_alone(network.problem) is None
    is_known = network.problem.layers or (getattr(network, "has_reference", False) and parameters["step"] is None)
    return is_alone and bool(is_known) and network.parameter_count <= MOST_WEIGHTS


def ran_out_of_memory(adapter: Adapter, error: BaseException) -> bool:
    """Return whether an error of the framework, or its cause, means that memory ran out."""
    return any(cause is not None and adapter.is_out_of_memory(cause) for cause in (error, error.__cause__))


def check_updates(adapter: Adapter, problem: Problem) -> UpdateCheck:
    """Return the comparison of the first steps of a training, on one batch of synthetic input, with its optimizer."""
    network: Any = adapter.build(replace(problem, layers=without_dropout(problem.layers)))
    network.make_deterministic()
    share, start = OF_CHANGE + OF_NORM * _largest_norm(problem, network), time.monotonic()
    found: List[Tuple[Norms, float]] = []
    for tensors in _steps(network, problem):
        step = Norms((), *(math.hypot(*each) for each in list(zip(*tensors))[1:]))
        if not numpy.isfinite(step.size):
            return _judged(found, "the weights are not finite after step %d" % (len(found) + 1))
        if step.is_too_small:
            values = (len(found) + 1, step.change / (step.size or 1.0))
            return _judged(found, _TOO_SMALL % values)
        ratios = [(each, each.ratio(share)) for each in (step, *tensors) if not each.is_too_small]
        found.append(max(ratios, key=_of_ratio))
        if len(found) < STEPS and time.monotonic() - start > LIMIT_S:
            return _judged(found, "%d of %d steps took longer than %g s" % (len(found), STEPS, LIMIT_S))
    return _judged(found)


def _of_ratio(found: Tuple[Norms, float]) -> float:
    return math.inf if math.isnan(found[1]) else found[1]


def _largest_norm(problem: Problem, network: Any) -> int:
    """Return the number of elements of the largest tensor whose norm the optimizer computes; 0 if it computes none."""
    has_norms = problem.optimizer.name == LAMB or problem.optimizer.clip_norm is not None
    return max(weight.size for weight in network.weights()) if has_norms else 0


def _steps(network: Any, problem: Problem) -> Iterator[List[Norms]]:
    """Yield the norms of each weight tensor, step by step."""
    inputs, labels = network.synthetic_batch(problem)
    batches, reordered = (
        [network.on_device(*each)] * problem.batches_per_step
        for each in ((inputs, labels), (_reversed(inputs), _reversed(labels)))
    )
    reference, before = ReferenceUpdate(problem.optimizer), copied(network.weights())
    for _ in range(STEPS):
        gradients, others = _gradients(network, batches), _gradients(network, reordered)
        varied = deepcopy(reference).next(before, others)
        expected = reference.next(before, gradients)
        network.learn(batches)
        after = copied(network.weights())
        yield [_norms(Tensor(*each)) for each in zip(before, after, expected, varied, gradients, others)]
        before = after


def _gradients(network: Any, batches: Sequence[Batch]) -> Arrays:
    network.differentiate(batches)
    return copied(network.gradients())


def _reversed(arrays: Any) -> Any:
    """Return an array, or arrays by name, with the items in reverse order."""
    if isinstance(arrays, dict):
        return {name: _reversed(each) for name, each in arrays.items()}
    return arrays[::-1].copy()


def _norms(tensor: Tensor) -> Norms:
    tensor = Tensor(*map(numpy.atleast_1d, tensor))
    compared, expected = tensor.compared(), tensor.expected
    differences = (expected - tensor.before, tensor.after - expected, tensor.reordered - expected)
    squares = [sum_of_squares(expected), *(sum_of_squares(each[compared]) for each in differences)]
    return Norms(expected.shape, *map(math.sqrt, squares))


def _judged(found: Sequence[Tuple[Norms, float]], reason: Optional[str] = None) -> UpdateCheck:
    """Return the check of the steps that were compared, with the reason why there are no more."""
    if not found:
        return UpdateCheck(0, reason=reason)
    worst = max(range(len(found)), key=lambda step: _of_ratio(found[step]))
    norms, ratio = found[worst]
    error = finite(norms.error / norms.change)
    return UpdateCheck(len(found), worst + 1, error, finite(ratio), reason, list(norms.shape))


def _wrong(check: UpdateCheck, optimizer: str) -> str:
    of = "of shape %s " % "x".join(map(str, check.worst_shape)) if check.worst_shape else ""
    weights = "the weights %safter step %s" % (of, check.worst_step)
    if check.error is None or check.bound_ratio is None:
        return weights + " are not finite"
    values = (weights, optimizer, check.error, check.bound_ratio)
    return "%s differ from the definition of %s by %.2g of their change in this step, %.3g times the tolerance" % values
