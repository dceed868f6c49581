"""The validation of PyTorch's own operators: correct runs pass, and faults in its functions are found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from hpcbench.core.validation.result import FAILED, PASSED
from hpcbench.models.operators.catalog import OPERATORS, operator_of, phases_of, sizes_of
from hpcbench.models.operators.operator import BOTH, FORWARD
from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks.operator_computation import OperatorComputation
from hpcbench.node.worker.validation.validate import validate
from tests.models.operators.small_sizes import SIZES
from tests.node.worker.validation.numpy_call import computation, validated

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the validation of its operators")

from torch.nn import functional  # noqa: E402

from hpcbench.node.frameworks.pytorch import strategies  # noqa: E402
from hpcbench.node.frameworks.pytorch.operators import PyTorchOperator  # noqa: E402


class OperatorOfAProcess(PyTorchOperator):
    """An operator of a new process, which has joined no group of ranks yet."""

    def __init__(self, *arguments: Any) -> None:
        strategies.leave()
        super().__init__(*arguments)


MOST = {
    "size": 3000,
    "rows": 60,
    "columns": 60,
    "classes": 60,
    "stride": 3,
    "stride_h": 3,
    "stride_w": 3,
    "kernel": 4,
    "pad": 2,
    "pad_h": 2,
    "pad_w": 2,
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_sparse_product_is_right_or_clearly_unsupported(dtype: str) -> None:
    reason = None
    try:
        assert (
            validated("sparse_gemm", {"m": 20, "n": 5, "k": 30}, of=OperatorOfAProcess, dtype=dtype).verdict == PASSED
        )
    except Unsupported as error:
        reason = str(error)
    assert reason in {None, f"PyTorch has no sparse product in {dtype} on this device"}
    assert reason is None or dtype != "float32"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_gradient_of_dropout_has_the_mask_of_its_forward_pass(dtype: str) -> None:
    class Other(OperatorOfAProcess):
        def forward_result(self) -> Any:
            return super().forward_result()[::-1].copy()

    sizes = {"size": 1000, "rate": 0.25}
    assert validated("dropout", sizes, "backward_inputs", OperatorOfAProcess, dtype=dtype).verdict == PASSED
    wrong = validated("dropout", sizes, "backward_inputs", Other, dtype=dtype)
    assert (wrong.reason or "").startswith("the gradient and the forward pass drop different elements: ")


def drawn_sizes(operator: str, numbers: random.Random) -> dict[str, Any]:
    """Random sizes that fit together, most of them up to 20."""
    while True:
        sizes = {name: _drawn(operator, name, default, numbers) for name, default in sizes_of(operator).items()}
        try:
            operator_of(operator, sizes)
        except ValueError:
            continue
        return sizes


def _drawn(operator: str, name: str, default: Any, numbers: random.Random) -> Any:
    choices = getattr(OPERATORS[operator], "choices", {}).get(name)
    if choices or isinstance(default, bool):
        return numbers.choice(choices or (False, True))
    if isinstance(default, float):
        return numbers.choice((0.1, 0.5, 0.9))
    return numbers.randint(0 if name.startswith("pad") else 1, MOST.get(name, 20))


def case_of(number: int, dtype: str = "float32") -> OperatorComputation:
    """One of many cases: all operators in turn, with a phase, sizes and values of its own."""
    numbers = random.Random(number)
    names = [
        name for name in OPERATORS if dtype == "float32" or name != "sparse_gemm"
    ]  # which PyTorch lacks in 16 bits
    operator = names[number % len(names)]
    sizes, phase = drawn_sizes(operator, numbers), numbers.choice(phases_of(operator))
    return computation(operator, sizes, phase, OperatorOfAProcess, dtype=dtype, seed=number)


def alarms(cases: range, dtype: str = "float32") -> list[Any]:
    found = []
    for number in cases:
        case = case_of(number, dtype)
        result = validate(case, None, [])
        if result.verdict != PASSED:
            found.append((case.operator, case.request.phase, result.reason))
    return found


@pytest.mark.parametrize("cases", [range(250), pytest.param(range(250, 1250), marks=pytest.mark.long)], ids=str)
def test_no_correct_run_is_a_false_alarm(cases: range) -> None:
    assert not alarms(cases)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_no_correct_run_in_16_bits_is_a_false_alarm(dtype: str) -> None:
    assert not alarms(range(2000, 2050), dtype)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_phase_of_every_operator_passes(operator: str) -> None:
    for sizes in SIZES[operator]:
        for phase in phases_of(operator):
            found = validated(operator, sizes, phase, OperatorOfAProcess)
            assert (found.verdict, found.reason) == (PASSED, None)


def test_the_results_of_two_numbers_of_threads_are_compared() -> None:
    def with_threads(count: int, call: Any) -> Any:
        torch.set_num_threads(count)
        seen.append(torch.get_num_threads())
        return call()

    seen: list[int] = []
    found = validated("gemm", SIZES["gemm"][0], FORWARD, OperatorOfAProcess, with_threads)
    assert seen == [1, 2]
    assert found.repeatability is not None
    assert found.repeatability.threads_bitwise is not None


FAULTS = {
    "conv2d": ("conv2d", lambda right: lambda x, kernel, **options: right(x, kernel.flip(-1), **options)),
    "linear": ("linear", lambda right: lambda x, weight, bias: right(x, weight)),
    "layer_norm": ("layer_norm", lambda right: lambda *arguments: right(*arguments[:-1], 1e-3)),
    "gelu": ("gelu", lambda right: lambda x: right(x, approximate="tanh")),
    "softmax": ("softmax", lambda right: lambda x, dim: right(x, 0)),
    "cross_entropy": ("cross_entropy", lambda right: lambda *arguments: right(*arguments, label_smoothing=1e-3)),
    "attention": (
        "scaled_dot_product_attention",
        lambda right: lambda *arguments, is_causal: right(*arguments, is_causal=not is_causal),
    ),
    "relu": ("relu", lambda right: lambda x: functional.leaky_relu(x, 1e-3)),
    "dropout": ("dropout", lambda right: lambda x, rate: right(x, rate, training=False)),
}


@pytest.mark.parametrize(
    ("operator", "phase"),
    [(operator, phase) for operator in FAULTS for phase in (FORWARD, BOTH) if (operator, phase) != ("linear", BOTH)],
)  # without its bias, it has no gradient of it
def test_a_fault_that_is_planted_in_a_function_of_pytorch_is_found(
    operator: str, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, faulty = FAULTS[operator]
    monkeypatch.setattr(functional, name, faulty(getattr(functional, name)))
    found = validated(operator, SIZES[operator][-1], phase, OperatorOfAProcess)
    assert found.verdict == FAILED
    assert found.reason


@pytest.mark.parametrize(("phase", "in_inference_mode"), [(FORWARD, True), (BOTH, False)])
def test_measured_steps_record_no_gradients_of_forward_passes(phase: str, in_inference_mode: bool) -> None:
    operator = computation("add", {"size": 4}, phase, of=OperatorOfAProcess)
    with operator.context():
        results = operator.step()
    assert {each.is_inference() for each in results} == {in_inference_mode}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_timed_sums_stay_finite_and_the_validation_adds_up_other_numbers_with_a_mock_group(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    """The mock adds up the numbers of two equal tasks."""
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda x: x.mul_(2))
    operator = computation("all_reduce", {"floats": 5}, of=OperatorOfAProcess, dtype=dtype)
    for _ in range(200):
        (timed,) = operator.call.call()
    assert torch.isfinite(timed).all()
    given = operator.request.arrays["x"]
    assert given.any()
    for _ in range(2):
        assert (operator.call.results()["output"] == 2 * given).all()


def test_a_compiled_collective_operator_is_unsupported_with_the_reason() -> None:
    with pytest.raises(Unsupported, match="collective operators cannot be used with execution: compiled"):
        computation("all_reduce", {"floats": 5}, of=OperatorOfAProcess, execution="compiled")


def test_the_gradient_check_of_a_compiled_operator_is_eager_and_the_record_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = []
    monkeypatch.setattr(torch, "compile", lambda function, mode: compiled.append(mode) or function)
    found = validated("softmax", {"rows": 4, "columns": 9}, BOTH, of=OperatorOfAProcess, execution="compiled")
    assert (found.verdict, len(compiled)) == (PASSED, 1)
    assert found.gradient_check is not None
    assert (found.gradient_check.execution, found.gradient_check.dtype) == ("eager", "float64")
    eager = validated("softmax", {"rows": 4, "columns": 9}, BOTH, of=OperatorOfAProcess).gradient_check
    assert eager is not None
    assert eager.execution is None
