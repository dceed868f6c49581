"""Trace the forward pass of one item, without running it, to count its FLOPs and to see what it computes.

FLOPs are those of the operations `dot_general` and `conv_general_dilated` (1 MAC = 2 FLOPs).
"""

from math import prod
from typing import Any, Iterator, List, NamedTuple, Tuple

import jax

from ...external.outputs import main_output
from ...external.trace import Trace, fingerprint
from ..network import Model


class _Operation(NamedTuple):
    """An operation, with the number of its executions in loops."""

    equation: Any
    executions: int


def trace(inputs: str, model: Model, item: Any) -> Trace:
    """Return the trace of a model, in inference, with one item of `inputs` (a description)."""

    def output(weights: Any, rest: Any, batch: Any) -> jax.Array:
        return main_output(model.apply(weights, rest, batch, False)[0], jax.Array)

    jaxpr, result = jax.make_jaxpr(output, return_shape=True)(model.weights, model.rest, item)
    operations = list(_operations(jaxpr.jaxpr, 1))
    shape = tuple(result.shape)
    weights = [str(weight.shape) for weight in model.weights]
    lines = [inputs, *map(_line, operations), *weights, str(shape)]
    return Trace(sum(map(_flops_of, operations)), shape, fingerprint(lines))


def _operations(jaxpr: Any, executions: int) -> Iterator[_Operation]:
    """Yield the operations of a program and of those that it calls.

    A `while` loop, whose number of iterations is unknown, counts once; of the branches of a condition, the one with
    the most FLOPs counts.
    """
    for equation in jaxpr.eqns:
        inner = list(_programs(equation.params))
        if not inner:
            yield _Operation(equation, executions)
        elif equation.primitive.name == "cond":
            branches: List[List[_Operation]] = [list(_operations(each, executions)) for each in inner]
            yield from max(branches, key=lambda branch: sum(map(_flops_of, branch)))
        else:
            times = equation.params["length"] if equation.primitive.name == "scan" else 1
            for each in inner:
                yield from _operations(each, executions * times)


def _programs(parameters: Any) -> Iterator[Any]:
    """Yield the programs among the parameters of an operation, such as the body of a loop."""
    for value in parameters.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            program = getattr(each, "jaxpr", each)  # without its constants
            if hasattr(program, "eqns"):
                yield program


def _flops_of(operation: _Operation) -> int:
    count = _COUNTS.get(operation.equation.primitive.name)
    return 2 * count(operation.equation) * operation.executions if count else 0


def _products(equation: Any) -> int:
    """Return the multiplications of a matrix product."""
    (contracted, _), _ = equation.params["dimension_numbers"]
    left: Tuple[int, ...] = equation.invars[0].aval.shape
    return prod(equation.outvars[0].aval.shape) * prod(left[place] for place in contracted)


def _of_convolution(equation: Any) -> int:
    """Return the multiplications of a convolution, without those by the zeros that a transposed one inserts."""
    numbers = equation.params["dimension_numbers"]
    inputs, kernel = (variable.aval.shape for variable in equation.invars)
    output = equation.outvars[0].aval.shape
    is_transposed = any(step != 1 for step in equation.params["lhs_dilation"])
    counted, spec = (inputs, numbers.lhs_spec) if is_transposed else (output, numbers.out_spec)
    items = output[numbers.out_spec[0]] * prod(counted[place] for place in spec[2:])
    return items * prod(kernel)


_COUNTS = {"dot_general": _products, "conv_general_dilated": _of_convolution}


def _line(operation: _Operation) -> str:
    shapes = [tuple(variable.aval.shape) for variable in operation.equation.outvars]
    return "%s %s %d" % (operation.equation.primitive.name, shapes, operation.executions)
