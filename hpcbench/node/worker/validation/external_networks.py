"""Validate a model of a library or of the user against itself in float64, on the CPU, eager and with one thread.

No other reference exists. The errors of an array are judged by its L2 norm. The tolerance is the largest change of the
array in float64, if weights and input numbers change at random by NOISE of the root mean square of their array: the
algorithms are backward stable, so rounding to float32 acts like a small change of the data (Higham, 2002, "Accuracy and
Stability of Numerical Algorithms", sections 1.5 and 3.5). NOISE is 32 units of rounding, which covers sums of 1,000
terms: their errors grow like the square root of their number (Higham and Mary, 2019, SIAM J. Sci. Comput. 41). The
tolerance is at least NOISE of the norm of all gradients, or of the output: some gradients are 0 but for rounding.

The gradients in float64 are compared with central differences of the loss along random directions. The median decides,
because a direction may cross the kink of a ReLU.
"""

import math
import time
from dataclasses import replace
from statistics import median
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy

from ....core.validation.result import FAILED, NOT_VALIDATED, PASSED, ArrayError, GradientCheck, Validation, array_title
from ....models.reference.variable import ROUNDINGS, Variable
from ...errors import Unsupported
from ...frameworks.adapter import Adapter, Network
from ...frameworks.external.exact import LOSS, Arrays, Exact
from ...frameworks.external.network import NO_REFERENCE
from ...frameworks.operator_call import OUTPUT
from .array_errors import array_error, finite
from .comparison import error_map, wrong_gradients, wrong_shape
from .network_limits import LOOSE, of_one_batch, why_not_alone, why_too_large
from .repeatability import LIMIT_S, checksum, repeated

NOISE = 2.0**-19  # 32 units of rounding of float32
CHANGES = 4  # random changes of the data
MOST_FLOPS = 40e9  # of a step, of which about 20 are computed in float64: minutes on one core
DIRECTIONS = 5
STEP = 1e-7
GRADIENT_TOLERANCE = 1e-5  # of the norm of the gradients: differences have errors of about 1e-8


def validate_external(
    adapter: Adapter,
    network: Any,
    with_threads: "Optional[Callable[[int, Callable[[], Arrays]], Arrays]]",
    threads: Sequence[int],
) -> Validation:
    """Return the validation of a model of a library or of the user: errors, gradient check, and repeatability.

    `with_threads` runs a function with a number of threads, if the framework can change it in a process.
    """
    start = time.monotonic()
    try:
        _check(network)
        validated: Any = adapter.build(of_one_batch(network.problem))
        batch = validated.on_device(*validated.synthetic_batch(validated.problem))
        exact: Exact = validated.exact(batch)
        references, others = exact.results(), exact.results(seed=1)
    except Unsupported as error:
        return Validation(NOT_VALIDATED, str(error))
    if checksum(references) != checksum(others):
        return Validation(
            NOT_VALIDATED, "the model returns random results, for example because a function calls dropout"
        )

    def call() -> Arrays:
        if not validated.problem.training:
            return {OUTPUT: numpy.array(validated.to_numpy(validated.predict(batch[0])))}
        batches = [batch] * validated.problem.batches_per_step
        loss = numpy.array(validated.to_numpy(validated.differentiate(batches)).reshape(()))
        return {LOSS: loss, **{name: numpy.array(each) for name, each in zip(exact.names, validated.gradients())}}

    found = call()
    validation = _compared(found, references, _tolerances(exact, references))
    if validated.problem.training:
        validation = _with_gradients(validation, exact)
    changed = (lambda count: with_threads(count, call)) if with_threads else None
    repeats, _ = repeated(found, call, changed, threads, LIMIT_S)
    return replace(validation, repeatability=repeats, checksum=checksum(found), duration_s=time.monotonic() - start)


def _check(network: Network) -> None:
    """Raise Unsupported if a model cannot be validated."""
    problem = network.problem
    if not getattr(network, "has_reference", False):
        raise Unsupported(NO_REFERENCE)
    reason = why_not_alone(problem)
    if reason:
        raise Unsupported(reason)
    if problem.parameters["step"] is not None:
        raise Unsupported("cases with `step` are not validated, because your function also updates the weights")
    if network.work.flops_per_item is None:
        raise Unsupported("the FLOPs of the model are unknown, so the reference could take hours")
    reason = why_too_large(network, network.work.flops_per_item, MOST_FLOPS)
    if reason:
        raise Unsupported(reason)


def _tolerances(exact: Exact, references: Arrays) -> Dict[str, float]:
    """Return the tolerance of the L2 norm of the error of each array."""
    gradients = [each for name, each in references.items() if name not in (LOSS, OUTPUT)]
    floors = {name: NOISE * _norm(references[name]) for name in (LOSS, OUTPUT) if name in references}
    floor = NOISE * _norm(*gradients)
    found = {name: floors.get(name, floor) for name in references}
    for seed in range(CHANGES):
        changed = exact.results(NOISE, seed)
        found = {name: max(each, _norm(changed[name] - references[name])) for name, each in found.items()}
    return found


def _compared(found: Arrays, references: Arrays, tolerances: Dict[str, float]) -> Validation:
    variables = {name: Variable(each, ROUNDINGS["float32"]) for name, each in references.items()}
    wrong = wrong_shape(found, variables)
    if wrong:
        return Validation(FAILED, wrong)
    errors = {name: _error(name, found[name], variables[name], tolerances[name]) for name in references}
    worst = max(errors.values(), key=lambda error: error.ratio)
    reason, verdict = None, PASSED
    if worst.ratio > 1:
        title = array_title(worst.array)
        reason = "the L2 norm of the error of %s is %.3g times its tolerance" % (title, worst.ratio)
        verdict = FAILED
    elif _looseness(references, tolerances) > LOOSE:
        share = _looseness(references, tolerances)
        reason = "rounding to float32 changes the results by %.2g of their norm, too much to detect errors" % share
        verdict = NOT_VALIDATED
    place = error_map(worst.array, found[worst.array], variables[worst.array])
    return Validation(verdict, reason, worst=worst, arrays=errors, error_map=place)


def _error(name: str, found: "numpy.ndarray", reference: Variable, tolerance: float) -> ArrayError:
    """Return the error of an array, whose ratio to its bound is that of L2 norms."""
    difference = numpy.abs(found.astype(numpy.float64) - reference.value)
    norm = _norm(difference)
    ratio = norm / tolerance if tolerance else 0.0 if norm == 0 else float("inf")
    worst = [int(each) for each in numpy.unravel_index(int(difference.argmax()), difference.shape)]
    error = array_error(name, found, reference, "float32")
    reason = None if numpy.isfinite(norm) else error.reason
    return replace(error, bound_ratio=finite(ratio), worst=worst, reason=reason)


def _looseness(references: Arrays, tolerances: Dict[str, float]) -> float:
    """Return the norm of all tolerances over that of the references, without the loss."""
    names = [name for name in references if name != LOSS]
    size = _norm(*(references[name] for name in names))
    return _norm(numpy.array([tolerances[name] for name in names])) / size if size else float("inf")


def _with_gradients(validation: Validation, exact: Exact) -> Validation:
    """Return the validation with the check of the gradients in float64, which can fail, too."""
    error, passed = _gradient_error(exact)
    check = GradientCheck("float64", DIRECTIONS, finite(error))
    if passed or validation.verdict == FAILED:
        return replace(validation, gradient_check=check)
    return replace(validation, verdict=FAILED, reason=wrong_gradients(check), gradient_check=check)


def _gradient_error(exact: Exact) -> Tuple[float, bool]:
    slopes = [exact.slope(seed, STEP) for seed in range(DIRECTIONS)]
    errors = [abs(each.difference - each.product) / (each.norm or 1.0) for each in slopes]
    found = median(errors) if numpy.isfinite(errors).all() else math.nan
    return found, found <= GRADIENT_TOLERANCE


def _norm(*arrays: "numpy.ndarray") -> float:
    return float(numpy.sqrt(sum(float((each.astype(numpy.float64) ** 2).sum()) for each in arrays)))
