"""Validate the results of an operator, after its measurement."""

import math
import time
from dataclasses import replace
from typing import Callable, Dict, Optional, Sequence

import numpy

from ....core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from ....models.operators.operator import FORWARD
from ....models.operators.reference_size import reference_bytes, reference_numbers
from ....models.reference.variable import Variable
from ...frameworks.operator_call import OUTPUT
from ...frameworks.operator_computation import OperatorComputation
from ...host.memory import available_bytes
from ...host.sysfs import this_system
from ...workload.own_operator import OwnOperator
from . import own_references, random_results
from .array_errors import FACTOR, array_error
from .comparison import error_map, too_loose, wrong_gradients, wrong_numbers, wrong_shape
from .gradient_check import check_gradients
from .heat_map import heat_map
from .references import references_of
from .repeatability import LIMIT_S, checksum, repeated

MOST_FLOPS = 50e9  # of a case whose reference is computed: a minute on one core
MOST_NUMBERS = 100e6  # of a case whose reference is computed: some GB
NO_REFERENCE = "no reference for the gradients: `forward` does not accept float64; add `reference_backward`"
LOOSE = 1 / FACTOR  # bounds over references, as L2 norms, above which zeros could pass
Arrays = Dict[str, "numpy.ndarray"]


def validate(
    computation: OperatorComputation,
    with_threads: "Optional[Callable[[int, Callable[[], Arrays]], Arrays]]",
    threads: Sequence[int],
) -> Validation:
    """Return the validation of an operator: errors against a reference, gradient check, and repeatability.

    `with_threads` runs a function with a number of threads, if the framework can change it in a process.
    """
    start = time.monotonic()
    request = computation.request
    reason = _too_large(computation)
    if reason:
        return Validation(NOT_VALIDATED, "too large for the reference: " + reason)
    results = computation.call.results()
    validation = _random(computation, results) if request.operator.is_random else _compared(computation, results)
    if not request.operator.is_random:
        call = computation.call.results
        # The ranks of a collective operator make the same calls, but may differ in speed and numbers of threads.
        alone = not request.operator.is_collective
        changed = (lambda count: with_threads(count, call)) if with_threads and alone else None
        repeats, variances = repeated(results, call, changed, threads, LIMIT_S if alone else math.inf)
        shown = variances and max(variances, key=lambda name: float(variances[name].max()))
        variance_map = heat_map(shown, variances[shown]) if variances and shown else None
        validation = replace(validation, repeatability=repeats, variance_map=variance_map, checksum=checksum(results))
    return replace(validation, duration_s=time.monotonic() - start)


def _too_large(computation: OperatorComputation) -> Optional[str]:
    """Return why a reference would take too much time or memory; None if it does not."""
    operator, phase = computation.request.operator, computation.request.phase
    flops = operator.flops(phase)
    if flops > MOST_FLOPS:
        return "one call has %.3g GFLOP; the limit is %g GFLOP" % (flops / 1e9, MOST_FLOPS / 1e9)
    numbers = reference_numbers(operator, computation.problem.group.size if operator.is_collective else 1)
    if numbers > MOST_NUMBERS:
        return "it has %.0f million numbers; the limit is %g million" % (numbers / 1e6, MOST_NUMBERS / 1e6)
    if operator.is_collective:  # whose ranks must all do the same, but may see other amounts of memory
        return None
    needed, available = reference_bytes(operator, phase), available_bytes(this_system())
    if available is not None and needed > available:
        return "it needs %.2f GB of memory, and %.2f GB are available" % (needed / 1e9, available / 1e9)
    return None


def _compared(computation: OperatorComputation, results: Arrays) -> Validation:
    """Return the errors of the results against the references, and the gradient check."""
    request, gradients = computation.request, results
    output = _output_of_gradients(computation)
    references = _references(computation, with_output=bool(output))
    asked = {name: references[name] for name in request.wanted if name in references}
    results, tolerance = {**output, **gradients}, own_references.tolerance_of(request)
    reason, checked = wrong_shape(results, references), None
    compared = [name for name in results if name in references]
    errors = {name: array_error(name, results[name], references[name], request.dtype) for name in compared}
    worst = max(errors.values(), key=lambda error: error.ratio, default=None)
    if request.phase != FORWARD and not reason:
        forward = own_references.forward_of(request)
        checked = check_gradients(
            request, computation.called_with, gradients, asked, forward, least_tolerance=tolerance or 0.0
        )
    reason = reason or (wrong_numbers(worst, results[worst.array]) if worst else None)
    if not reason and checked and not checked.passed:
        reason = wrong_gradients(checked.check, checked.worst)
    verdict = FAILED if reason else PASSED
    if not reason and not asked:
        reason, verdict = NO_REFERENCE, NOT_VALIDATED
    has_values = any(reference.value.any() for reference in asked.values())  # zeros have no relative bound
    if not reason and has_values and tolerance is None:
        reason = too_loose(asked, LOOSE)
        verdict = NOT_VALIDATED if reason else PASSED
    return Validation(
        verdict=verdict,
        reason=reason,
        worst=worst,
        arrays=errors,
        gradient_check=checked.check if checked else None,
        error_map=error_map(worst.array, results[worst.array], references[worst.array]) if worst else None,
    )


def _output_of_gradients(computation: OperatorComputation) -> Arrays:
    """Return the output by its name, if the results are gradients and the framework kept their forward pass."""
    request, call = computation.request, computation.call
    found = None if request.phase == FORWARD else call.forward_result()
    return {} if found is None else {OUTPUT: call.restored(request.described(OUTPUT), found)}


def _references(computation: OperatorComputation, with_output: bool) -> Dict[str, Variable]:
    request = computation.request
    if isinstance(request.operator, OwnOperator):
        return own_references.references_of(request, computation.called_with, with_output)
    group = computation.problem.group
    others = range(group.size) if request.operator.is_collective else ()
    return references_of(request, [computation.arrays_of(rank) for rank in others if rank != group.rank], with_output)


def _random(computation: OperatorComputation, results: Arrays) -> Validation:
    reason = random_results.what_is_wrong(computation.request, results, computation.call.forward_result())
    return Validation(FAILED if reason else PASSED, reason)
