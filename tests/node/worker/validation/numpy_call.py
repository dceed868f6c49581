"""Operators computed by NumPy in the precision of the case, in place of a framework, and what the worker validates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hpcbench.core.frameworks import OPERATOR
from hpcbench.core.validation.result import Validation
from hpcbench.models.operators.catalog import operator_of
from hpcbench.models.operators.operator import FORWARD, INDEX
from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks.operator_call import OUTPUT, OperatorCall, Request
from hpcbench.node.frameworks.operator_computation import OperatorComputation
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.validation.validate import validate
from hpcbench.node.workload import problem
from hpcbench.node.workload.problem import Problem
from tests.models.operators import plain_numpy

Arrays = dict[str, Any]


class NumPyOperator(OperatorCall):
    """An operator in plain NumPy. `options` and `of_gradient` are those of plain_numpy; `before` and `after` change
    what it reads and returns."""

    options: ClassVar[dict[str, Any]] = {}
    of_gradient: ClassVar[dict[str, Any]] = {}
    has_float64: ClassVar[bool] = True

    def __init__(self, request: Request, problem: Problem) -> None:
        super().__init__(request, problem)
        if request.dtype == "float64" and not self.has_float64:
            raise Unsupported("this framework has no float64")
        self.calls = 0

    def before(self, arrays: Arrays) -> Arrays:
        return arrays

    def after(self, results: Arrays) -> Arrays:
        return results

    def call(self) -> Any:
        self.calls += 1
        request, described = self.request, self.request.operator.arrays()
        read = self.before({name: array for name, array in request.arrays.items() if described[name].role != INDEX})
        arrays = {**request.arrays, **read}
        if request.phase == FORWARD:
            results = {OUTPUT: plain_numpy.forward(request.operator, arrays, **self.options)}
        else:
            results = plain_numpy.backward(request.operator, arrays, request.cotangent, **self.of_gradient)
        changed = self.after({name: results[name] for name in request.wanted})
        return [changed[name] for name in request.wanted if name in changed]

    def forward_result(self) -> Any:
        request = self.request
        if request.phase == FORWARD or request.operator.is_random:
            return None
        return plain_numpy.forward(request.operator, request.arrays, **self.options)

    def to_numpy(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def synchronize(self) -> None: ...


def computation(
    operator: str, sizes: dict[str, Any], phase: str = FORWARD, of: type[OperatorCall] = NumPyOperator, **changes: Any
) -> OperatorComputation:
    """A case of an operator, as the adapter of a framework would build it."""
    parameters = {
        "task": OPERATOR,
        "operator": operator,
        "sizes": sizes,
        "phase": phase,
        "strategy": "single",
        "device": "cpu",
        "dtype": "float32",
        "execution": "eager",
        "compile_mode": None,
        "seed": 3,
        **changes,
    }
    case = problem.of_case(parameters, Group(Ranks(0, 1)))
    return OperatorComputation(case, operator_of(operator, sizes), of)


def validated(
    operator: str,
    sizes: dict[str, Any],
    phase: str = FORWARD,
    of: type[OperatorCall] = NumPyOperator,
    with_threads: Callable[[int, Callable[[], Arrays]], Arrays] | None = None,
    **changes: Any,
) -> Validation:
    """The validation of such a case, as the worker runs it."""
    return validate(computation(operator, sizes, phase, of, **changes), with_threads, [1, 2])


def variant(**members: Any) -> type[NumPyOperator]:
    """NumPyOperator with other options or methods."""
    return type("Variant", (NumPyOperator,), members)
