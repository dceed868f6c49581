"""The operators of every framework, compared with the reference in float64 and the bound of rounding errors."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hpcbench.core.frameworks import COMPILED, EAGER, FRAMEWORKS, TRAINING_FRAMEWORKS
from hpcbench.models.operators.catalog import OPERATORS, phases_of

ALL = tuple(name for name, operator in OPERATORS.items() if not operator.is_collective)
PARTS = [ALL[::4], ALL[1::4], ALL[2::4], ALL[3::4]]  # compilers may take seconds for each phase
# The logarithm of MXNet's softmax in oneDNN errs by dozens of ulps for few classes.
INEXACT = {"mxnet": {"cross_entropy backward_inputs", "cross_entropy both"}}
# XLA does not have sparse products, and Keras no sparse tensors of PyTorch.
WITHOUT_SPARSE = (
    *(("tensorflow", COMPILED), ("keras-tensorflow", COMPILED)),
    *(("keras-torch", EAGER), ("keras-torch", COMPILED)),
)
CASES = [
    (framework, execution, operators)
    for framework in TRAINING_FRAMEWORKS
    for execution in FRAMEWORKS[framework].executions
    for operators in ([ALL] if execution == FRAMEWORKS[framework].executions[0] or execution != COMPILED else PARTS)
]


@pytest.mark.parametrize(
    ("framework", "execution", "operators"),
    [pytest.param(*each, marks=[] if each[2] == ALL else [pytest.mark.long]) for each in CASES],
    ids=["-".join([framework, execution, operators[0]]) for framework, execution, operators in CASES],
)
def test_all_phases_of_operators_are_within_the_bound(
    framework: str, execution: str, operators: tuple[str, ...], answers: Any
) -> None:
    (found,) = answers("operator_probe.py", framework, execution, "float32", *operators, framework=framework)
    random = {case: found.pop(case) for case in list(found) if case.split()[0] == "dropout"}
    unsupported = {case for case, ratio in found.items() if str(ratio).startswith("Unsupported: ")}
    assert unsupported <= ({"sparse_gemm forward"} if (framework, execution) in WITHOUT_SPARSE else set())
    found = {case: ratio for case, ratio in found.items() if case not in unsupported}
    inexact = {case for case, ratio in found.items() if not is_within_the_bound(ratio)}
    assert inexact == INEXACT.get(framework, set()), {case: found[case] for case in inexact}
    assert all(list(shapes.values()) == [[1000]] for shapes in random.values())
    assert {tuple(case.split()[:2]) for case in [*found, *random, *unsupported]} == {
        (operator, phase) for operator in operators for phase in phases_of(operator)
    }


def is_within_the_bound(ratio: Any) -> bool:
    return isinstance(ratio, int | float) and math.isfinite(ratio) and ratio <= 1
