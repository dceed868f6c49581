"""Validate the output, or loss and gradients, of a shipped network against a reference of the whole network.

A second network is built, since training has changed the weights of the one that was measured. Its scales and offsets
are not the initial ones and zeros, which would hide errors, and it has no dropout, whose results are random.
"""

import time
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Sequence

import numpy

from ....core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from ....models import catalog
from ....models.initial_weights import InitialWeights
from ....models.layers import Weight
from ....models.network_reference import loss_of, output_of, with_weights, without_dropout
from ....models.reference.gradients import gradients
from ....models.reference.variable import ROUNDINGS, Variable
from ...frameworks.adapter import Adapter, Network
from ...frameworks.operator_call import OUTPUT
from ...workload.problem import Problem
from .array_errors import array_error
from .comparison import LOSS, error_map, too_loose, wrong_numbers, wrong_shape
from .network_limits import LOOSE, of_one_batch, why_not_alone, why_too_large
from .numbered import NotFoundError, copied, in_order, places_in_network
from .repeatability import LIMIT_S, checksum, repeated

MOST_FLOPS = 10e9  # of a step whose reference is computed: a minute on one core
_SPREAD = 0.5  # of weights that are initially constant
Arrays = Dict[str, "numpy.ndarray"]


class _Varied(InitialWeights):
    """Initial weights without constant ones."""

    def _draw(self, weight: Weight) -> "numpy.ndarray":
        return super()._draw(weight if weight.spread else weight._replace(spread=_SPREAD))


class Results(NamedTuple):
    """A network ready to be validated: a call returns its results by name, for these inputs and labels."""

    call: Callable[[], Arrays]
    references: Dict[str, Variable]


def validate_network(
    adapter: Adapter,
    network: Network,
    with_threads: "Optional[Callable[[int, Callable[[], Arrays]], Arrays]]",
    threads: Sequence[int],
) -> Validation:
    """Return the validation of a network: errors against a reference, and repeatability.

    `with_threads` runs a function with a number of threads, if the framework can change it in a process.
    """
    start = time.monotonic()
    reason = _why_not(network)
    if reason:
        return Validation(NOT_VALIDATED, reason)
    problem = _validated(network.problem)
    try:
        results = _results(adapter, problem)
    except NotFoundError as error:
        return Validation(NOT_VALIDATED, str(error))
    try:
        found = results.call()
    except NotFoundError as error:
        return Validation(FAILED, "gradients are missing: %s" % error)
    validation = _compared(found, results.references)
    changed = (lambda count: with_threads(count, results.call)) if with_threads else None
    repeats, _ = repeated(found, results.call, changed, threads, LIMIT_S)
    return replace(validation, repeatability=repeats, checksum=checksum(found), duration_s=time.monotonic() - start)


def _why_not(network: Network) -> Optional[str]:
    """Return why a network cannot be validated; None if it can be."""
    problem = network.problem
    reason = why_not_alone(problem)
    if reason:
        return reason
    flops = catalog.flops_of(problem.layers, problem.item_shape, problem.training)
    return why_too_large(network, flops, MOST_FLOPS)


def _validated(problem: Problem) -> Problem:
    """Return the problem of one batch with varied weights and without dropout."""
    return replace(of_one_batch(problem), layers=without_dropout(problem.layers), initial_weights=_Varied)


def _results(adapter: Adapter, problem: Problem) -> Results:
    """Return results and references of a problem. Raise NotFoundError if the weights are not found."""
    shapes = [
        (path, name, weight.shape)
        for path, layer, shape in with_weights(problem.layers, problem.item_shape)
        for name, weight in layer.weights(shape).items()
    ]
    ends = numpy.cumsum([int(numpy.prod(shape)) for _, _, shape in shapes])

    def arrays_of(flat: "numpy.ndarray") -> Dict[str, "numpy.ndarray"]:
        parts = zip(shapes, numpy.split(flat, ends[:-1]))
        return {"%s %s" % (path, name): part.reshape(shape) for (path, name, shape), part in parts}

    places = places_in_network(adapter, problem)
    network: Any = adapter.build(problem)
    rounding = ROUNDINGS["float32"]
    arrays = arrays_of(in_order(copied(network.weights()), places))
    weights = {name: Variable(array, rounding) for name, array in arrays.items()}
    inputs, labels = problem.batch()
    batch = network.on_device(inputs, labels)

    def call() -> Arrays:
        if not problem.training:
            return {OUTPUT: network.to_numpy(network.predict(batch[0]))}
        loss = network.to_numpy(network.differentiate([batch] * problem.batches_per_step)).reshape(())
        return {LOSS: loss, **arrays_of(in_order(copied(network.gradients()), places))}

    return Results(call, _references(problem, Variable(inputs.astype(numpy.float64), rounding), labels, weights))


@numpy.errstate(over="ignore", invalid="ignore")  # of bounds that float32 is too small for: nothing is detected then
def _references(
    problem: Problem, inputs: Variable, labels: "numpy.ndarray", weights: Dict[str, Variable]
) -> Dict[str, Variable]:
    output = output_of(problem.layers, inputs, _by_layer(problem, weights), problem.training)
    if not problem.training:
        return {OUTPUT: output}
    loss = loss_of(output, labels)
    one = Variable(numpy.ones(loss.shape), loss.rounding)
    return {LOSS: loss, **dict(zip(weights, gradients(loss, one, list(weights.values()))))}


def _by_layer(problem: Problem, weights: Dict[str, Variable]) -> Iterator[Dict[str, Variable]]:
    for path, layer, shape in with_weights(problem.layers, problem.item_shape):
        yield {name: weights["%s %s" % (path, name)] for name in layer.weights(shape)}


def _compared(found: Arrays, references: Dict[str, Variable]) -> Validation:
    reason = wrong_shape(found, references)
    errors = {name: array_error(name, found[name], reference, "float32") for name, reference in references.items()}
    worst = max(errors.values(), key=lambda error: error.ratio)
    reason = reason or wrong_numbers(worst, found[worst.array])
    verdict = FAILED if reason else PASSED
    if not reason:
        reason = too_loose(references, LOOSE, "; use a larger batch")
        verdict = NOT_VALIDATED if reason else PASSED
    place = error_map(worst.array, found[worst.array], references[worst.array])
    return Validation(verdict, reason, worst=worst, arrays=errors, error_map=place)
