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
# Operators that compute in float32 for arrays of float64: their gradients are checked in the data type of the case.
OF_KERAS = {
    *("attention", "lstm_cell", "gru_cell", "layer_norm", "batch_norm", "pooling", "cross_entropy", "mse"),
}
WITHOUT_FLOAT64 = {
    "tensorflow": {"batch_norm", "gelu"},
    "keras-tensorflow": {"gelu"},
    "jax": {"attention"},
    "keras-jax": {*OF_KERAS, "lstm", "tanh"},
    "keras-torch": {*OF_KERAS, "gemm", "bmm", "linear", "rnn_cell"},
    "mxnet": {"gelu"},
}
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
def test_all_phases_of_operators_are_within_the_bound_and_the_last_one_is_validated(
    framework: str, execution: str, operators: tuple[str, ...], ask: Any
) -> None:
    found = ask("operator_probe", framework, execution, "float32", *operators, framework=framework)
    cases = {tuple(case.split()[:2]) for case in found}
    assert cases == {(operator, phase) for operator in operators for phase in phases_of(operator)}
    unsupported = {case for case, ratio in found.items() if str(ratio).startswith("Unsupported: ")}
    assert unsupported <= ({"sparse_gemm forward"} if (framework, execution) in WITHOUT_SPARSE else set())
    found = {case: ratio for case, ratio in found.items() if case not in unsupported}
    validations = {case: each for case, each in found.items() if isinstance(each, dict) and "verdict" in each}
    for case, validation in validations.items():
        check_validation(framework, case, validation)
        found[case] = validation["ratio"]
    random = {case: found.pop(case) for case in list(found) if case.split()[0] == "dropout"}
    assert all(shapes is None or list(shapes.values()) == [[1000]] for shapes in random.values())
    inexact = {case for case, ratio in found.items() if not is_within_the_bound(ratio)}
    assert inexact == INEXACT.get(framework, set()), {case: found[case] for case in inexact}
    assert len({case.split()[0] for case in [*validations, *unsupported]}) == len(operators)


def check_validation(framework: str, case: str, validation: dict[str, Any]) -> None:
    operator, phase = case.split()
    wrong = case in INEXACT.get(framework, set())
    assert (validation["verdict"], validation["reason"] is None) == ("failed" if wrong else "passed", not wrong), case
    if operator == "dropout":
        assert validation["has_forward_result"], "the mask of the gradient was not compared"
    elif phase != "forward":
        check, in_float64 = validation["check"], operator not in WITHOUT_FLOAT64.get(framework, set())
        assert check["dtype"] == ("float64" if in_float64 else "float32"), case
        assert (check["reason"] is None) == in_float64, case


def is_within_the_bound(ratio: Any) -> bool:
    return isinstance(ratio, int | float) and math.isfinite(ratio) and ratio <= 1
