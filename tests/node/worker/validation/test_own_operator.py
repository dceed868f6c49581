"""Operators of the user on the real PyTorch: right ones pass, and wrong ones are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.models.operators.user_file import name_of
from hpcbench.node.errors import BadModel, Unsupported
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: operators of the user")

from hpcbench.node.frameworks.operator_computation import OperatorComputation  # noqa: E402
from hpcbench.node.frameworks.pytorch.operators import PyTorchOperator  # noqa: E402
from hpcbench.node.worker.validation.validate import NO_REFERENCE, validate  # noqa: E402

EXAMPLES = Path(__file__).parents[4] / "configs" / "programs" / "operators"
FILE = """
import numpy
import torch

WEIGHTS = ("w",)

def inputs(random, rows=30, inner=40):
    return {"x": random.standard_normal((rows, inner)), "w": random.standard_normal((inner, 5)) / inner**0.5}

def forward(x, w):
    return torch.tanh(x @ w)

def reference(x, w):
    return numpy.tanh(x @ w)

def terms(inner):
    return inner
"""
BACKWARD = """
def backward(cotangent, output, wanted, x, w):
    inner = cotangent * (1 - output**2)
    found = {}
    if "x" in wanted:
        found["x"] = inner @ w.T
    if "w" in wanted:
        found["w"] = x.T @ inner
    return found
"""
REFERENCE = """
def reference_backward(cotangent, x, w):
    inner = cotangent * (1 - numpy.tanh(x @ w)**2)
    return {"x": inner @ w.T, "w": x.T @ inner}
"""


class Case:
    """Runs the operator of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def computation(self, text: str | None = FILE, phase: str = "both", **changes: Any) -> OperatorComputation:
        if text is not None:
            self.path.write_text(text)
        parameters = {
            "task": "operator",
            "operator": name_of(str(self.path)),
            "sizes": {},
            "phase": phase,
            "seed": 3,
            "strategy": "single",
            "device": "cpu",
            "dtype": "float32",
            "execution": "eager",
            "compile_mode": None,
            **changes,
        }
        case = problem.of_case(parameters, Group(Ranks(0, 1)))
        assert case.operator is not None
        return OperatorComputation(case, case.operator, PyTorchOperator)

    def validated(self, *given: Any, **changes: Any) -> Validation:
        return validate(self.computation(*given, **changes), None, [1])


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "op.py")


@pytest.mark.parametrize("text", [FILE, FILE + BACKWARD, FILE + REFERENCE, FILE + BACKWARD + REFERENCE])
@pytest.mark.parametrize("phase", ["forward", "backward_inputs", "backward_weights", "both"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_right_operator_passes(case: Case, text: str, phase: str, dtype: str) -> None:
    found = case.validated(text, phase, dtype=dtype)
    assert (found.verdict, found.reason) == (PASSED, None)
    gradients = {"forward": [], "backward_inputs": ["x"], "backward_weights": ["w"], "both": ["x", "w"]}
    assert list(found.arrays) == ["output", *gradients[phase]]
    assert found.worst is not None
    assert 0 < found.worst.bound_ratio < 1
    assert (found.gradient_check is None) == (phase == "forward")
    assert found.gradient_check is None or found.gradient_check.dtype == "float64"


@pytest.mark.parametrize(
    ("text", "phase", "reason"),
    [
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x @ w) * 1.0001"), "forward", "times the bound"),
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x[:, :-1] @ w[:-1])"), "forward", "times the bound"),
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x.bfloat16() @ w.bfloat16()).float()"), "forward", "times the"),
        (FILE + BACKWARD.replace("x.T @", "1.001 * x.T @"), "both", "the gradient of w differs from central dif"),
        (
            FILE + BACKWARD.replace("1 - output", "1.001 - output"),
            "both",
            "the gradient of w differs from central diff",
        ),
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x @ w) + 0.5"), "both", "the error of the output is"),
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x @ w) + 0.5"), "backward_weights", "the error of the output"),
        (FILE + BACKWARD.replace("x.T @", "1.001 * x.T @") + REFERENCE, "both", "the error of the gradient of w is"),
        (FILE + REFERENCE.replace("x.T @", "1.001 * x.T @"), "both", "the error of the gradient of w is"),
    ],
)
def test_faults_planted_in_the_file_are_found(case: Case, text: str, phase: str, reason: str) -> None:
    found = case.validated(text, phase)
    assert found.verdict == FAILED
    assert reason in (found.reason or "")


ONLY_32 = FILE.replace("return torch", "assert x.dtype == torch.float32, 'only float32'\n    return torch")


def test_without_float64_gradients_are_checked_in_the_data_type_of_the_case(case: Case) -> None:
    found = case.validated(ONLY_32)
    assert (found.verdict, found.reason, list(found.arrays)) == (NOT_VALIDATED, NO_REFERENCE, ["output"])
    assert found.gradient_check is not None
    assert found.gradient_check.dtype == "float32"
    assert "float64 is not available: " in (found.gradient_check.reason or "")
    assert "only float32" in (found.gradient_check.reason or "")
    with_reference = case.validated(ONLY_32 + REFERENCE)
    assert (with_reference.verdict, list(with_reference.arrays)) == (PASSED, ["output", "x", "w"])
    wrong = case.validated(ONLY_32 + BACKWARD.replace("x.T @", "1.01 * x.T @"))
    assert wrong.verdict == FAILED
    assert "the gradient of w differs from central differences by " in (wrong.reason or "")


def test_gradients_in_16_bits_without_a_reference_are_not_validated(case: Case) -> None:
    only_16 = ONLY_32.replace("torch.float32", "torch.bfloat16") + BACKWARD.replace("x.T @", "1.08 * x.T @")
    found = case.validated(only_16, dtype="bfloat16")
    assert (found.verdict, found.reason) == (NOT_VALIDATED, NO_REFERENCE)
    assert found.gradient_check is not None
    found = case.validated(only_16 + REFERENCE, dtype="bfloat16")
    assert (found.verdict, found.worst.array) == (FAILED, "w"), found.worst


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (REFERENCE.replace("numpy.tanh", "nmpy.tanh"), r"op\.py:20: 'reference_backward' failed: NameError"),
        (
            REFERENCE.replace(', "w": x.T @ inner', ""),
            r"'reference_backward' \(.*\) did not return the gradient of 'w'",
        ),
        (
            REFERENCE.replace('"w": x.T', "3: x.T"),
            r"'reference_backward' \(.*\) returned gradients with unknown names: 3; missing: w; known names: x, w$",
        ),
        ("def terms(x):\n    return 3\n", "'terms' .* has the unknown argument 'x'; known arguments: rows, inner"),
        ("def terms():\n    pass\n", "'terms' .* returned None, not a number"),
        ("def terms():\n    return {'w': 'many'}\n", "'terms' .* returned 'many', not a number"),
    ],
)
def test_an_error_of_the_file_in_the_validation_is_raised(case: Case, text: str, message: str) -> None:
    with pytest.raises(BadModel, match=message):
        case.validated(FILE + text)
    with pytest.raises(BadModel, match=message.replace("20", "21")):  # an operator without a reference of its own
        case.validated(ONLY_32 + text)


@pytest.mark.parametrize(
    ("text", "phase", "message"),
    [
        (FILE.replace("torch.tanh(x @ w)", "torch.tanh(x.mul_(2) @ w)"), "forward", "'forward' .* changes its .* 'x'"),
        (
            FILE.replace("return torch", "w += 1\n    return torch"),
            "backward_inputs",
            "'forward' .* changes its .* 'w'",
        ),
        (FILE + BACKWARD.replace("cotangent *", "cotangent.mul_"), "both", "'backward' .* changes .* 'cotangent'"),
        (
            FILE + BACKWARD.replace("    found =", "    x.zero_()\n    found ="),
            "both",
            "'backward' .* changes its .* 'x'",
        ),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_function_that_changes_its_arguments_is_an_error(
    case: Case, text: str, phase: str, message: str, dtype: str
) -> None:
    with pytest.raises(BadModel, match=message + r".* in place; change a copy: \w+\.clone\(\)"):
        case.computation(text, phase, dtype=dtype)


def test_a_declared_tolerance_replaces_the_bound(case: Case) -> None:
    text = FILE.replace("torch.tanh(x @ w)", "torch.tanh(x @ w) + 1e-4") + "TOLERANCE = {'float32': %g}\n"
    assert case.validated(text % 2e-4, "forward").verdict == PASSED
    assert case.validated(text % 0.5e-4, "forward").verdict == FAILED


def test_the_gradient_check_is_as_loose_as_a_declared_tolerance(case: Case) -> None:
    text = FILE.replace("torch.tanh(x @ w)", "torch.tanh(1.001 * (x @ w))") + "TOLERANCE = {'float32': %g}\n"
    found = case.validated(text % 0.01)
    assert (found.verdict, found.reason) == (PASSED, None)
    assert found.gradient_check is not None
    assert found.gradient_check.error > 1e-5
    wrong = case.validated(text % 0.01 + BACKWARD.replace("x.T @", "1.05 * x.T @"))
    assert (wrong.verdict, (wrong.reason or "")[:31]) == (FAILED, "the gradient of w differs from ")


def test_own_gradients_are_those_that_are_asked_for_and_take_the_saved_output(case: Case) -> None:
    text = FILE + BACKWARD + "ASKED = []\n"
    text = text.replace("    found = {}", "    ASKED.append(wanted)\n    found = {}")
    computation = case.computation(text, "backward_weights")
    operator: Any = computation.operator
    computation.step()
    assert set(operator.file.value("ASKED")) == {("w",)}


@pytest.mark.parametrize(
    ("text", "phase", "message"),
    [
        (FILE.replace("x @ w)", "x @ w.T)", 1), "forward", r"op\.py:11: 'forward' failed: RuntimeError: mat1 and mat2"),
        (
            FILE.replace("return torch", "return 3 and torch", 1).replace("torch.tanh(x @ w)", "3"),
            "forward",
            "'forward'",
        ),
        (FILE.replace("torch.tanh(x @ w)", "(x @ w)[:3]"), "forward", r"returned shape \(3, 5\) for the output, not a"),
        (
            FILE.replace("torch.tanh(x @ w)", "(x @ w).detach()"),
            "both",
            "'forward' .* does not require grad",
        ),
        (
            FILE.replace("torch.tanh(x @ w)", "torch.tanh(x @ w)[:3]"),
            "both",
            r"op\.py:10\) returned shape \(3, 5\) for th",
        ),
        (
            FILE.replace("return torch", "return x, torch"),
            "both",
            r"op\.py:10\) returned an object of type tuple for the",
        ),
        (
            FILE.replace("x @ w)", "x @ w)[:3]", 1) + BACKWARD,
            "both",
            r"'forward' \(.*\) returned shape \(3, 5\) for the o",
        ),
        (
            FILE.replace("forward(x, w)", "forward(x)"),
            "forward",
            "does not have the argument 'w', an array of `inputs`",
        ),
        (
            FILE + BACKWARD.replace('found["x"]', 'found["dx"]'),
            "both",
            r"'backward' \(.*\) returned gradients with unknown names: dx; missing: x; known names: x, w$",
        ),
        (FILE + BACKWARD.replace('["x"]', '["w"]'), "both", r"'backward' \(.*\) did not return the gradient of 'x'"),
        (
            FILE + BACKWARD.replace("return found", "return x"),
            "both",
            "returned an object of type Tensor, not a dictionary of gradients; known names: x, w",
        ),
        (
            FILE + BACKWARD.replace("w.T", "w.T[:, :3]"),
            "both",
            r"returned shape \(30, 3\) for the gradient of 'x', not",
        ),
        (
            FILE.replace('("w",)', "()"),
            "backward_weights",
            "has no phase backward_weights; use one of: forward, backward_in",
        ),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(case: Case, text: str, phase: str, message: str) -> None:
    with pytest.raises(BadModel, match=message):
        case.computation(text, phase)


def test_the_shipped_custom_operator_passes_also_compiled() -> None:
    example = Case(EXAMPLES / "scaled_silu.py")
    for phase in ("forward", "both"):
        found = example.validated(None, phase, sizes={"rows": 20, "columns": 30})
        assert (found.verdict, found.reason) == (PASSED, None)


@pytest.mark.long
def test_the_shipped_operator_in_cpp_is_built_and_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    example = Case(EXAMPLES / "moving_sum.py")
    for phase in ("forward", "backward_inputs"):
        found = example.validated(None, phase, sizes={"rows": 20, "columns": 30})
        assert (found.verdict, found.reason) == (PASSED, None)
        assert found.gradient_check is None or found.gradient_check.dtype == "float64"
    assert list(tmp_path.rglob("moving_sum*.so"))


def test_without_a_compiler_an_operator_in_cpp_is_unsupported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        Unsupported, match=r"moving_sum\.py: 'no-such-compiler', which builds C\+\+ extensions, was not"
    ):
        Case(EXAMPLES / "moving_sum.py").computation(None, "forward")
