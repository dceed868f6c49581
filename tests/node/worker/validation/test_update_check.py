"""The check of the updates of a training in PyTorch: each planted fault is found, and no optimizer is a false alarm."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.models.optimizers import OPTIMIZERS, Optimizer
from hpcbench.models.schedules import Schedule
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem as problems

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the check of updates")

from hpcbench.node.frameworks import load  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch import optimizers  # noqa: E402
from hpcbench.node.frameworks.pytorch.network import PyTorchNetwork  # noqa: E402
from hpcbench.node.worker.validation import update_check  # noqa: E402
from hpcbench.node.worker.validation.update_check import with_updates  # noqa: E402

MODEL = {"input_size": 5, "hidden_size": 6, "classes": 3}
_SIZES = {"hidden_size": 8, "layers": 1, "heads": 2, "feed_forward_size": 8}
TRANSFORMER = {**_SIZES, "vocabulary": 9, "positions": 4, "sequence_length": 4, "classes": 3}
WARMUP = {"schedule": "cosine", "peak": 0.01, "warmup_steps": 2, "total_steps": 3}
OPTIONS: list[dict[str, Any]] = [
    *({"name": name} for name in OPTIMIZERS),
    *({"name": name, "learning_rate": WARMUP, "weight_decay": 0.1, "clip_norm": 0.01} for name in OPTIMIZERS),
    {"name": "adam", "gradient_accumulation_steps": 3, "clip_value": 1e-3},
]


@pytest.fixture
def checked(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., Validation]:
    """The validation of a training of which everything but the updates has passed."""

    def make(before: str = PASSED, **changes: Any) -> Validation:
        own = {"model": "mlp", "model_options": MODEL, "batch_size": 8, "task": "training", **changes}
        adapter, problem = load("pytorch"), problems.of_case(make_parameters(**own), Group(Ranks(0, 1)))
        return with_updates(Validation(before, duration_s=1.0), adapter, adapter.build(problem))

    return make


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_optimizer_is_a_false_alarm(checked: Any, options: dict[str, Any]) -> None:
    found = checked(optimizer=options)
    assert (found.verdict, found.reason) == (PASSED, None)
    assert (found.update.steps, found.update.reason) == (update_check.STEPS, None)
    assert 0 < found.update.bound_ratio < 0.5
    assert found.update.error < 1e-4
    assert found.duration_s > 1.0


def test_dropout_is_left_out(checked: Any) -> None:
    found = checked(model="transformer", model_options=TRANSFORMER)
    assert (found.verdict, found.update.steps) == (PASSED, update_check.STEPS)


def _of_options(optimizer: str, /, **changes: Any) -> tuple[str, Callable[[pytest.MonkeyPatch], None]]:
    """Train with other options than the case has."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for function in ("optimizer_of", "schedule_of", "clip"):
            right = getattr(optimizers, function)

            def wrong(first: Any, options: Optimizer, right: Callable[..., Any] = right) -> Any:
                return right(first, options._replace(**changes))

            patch.setattr(optimizers, function, wrong)

    return optimizer, plant


def _of_step(name: str, learn: Callable[..., Any]) -> tuple[str, Callable[[pytest.MonkeyPatch], None]]:
    right = PyTorchNetwork.learn
    return name, lambda patch: patch.setattr(PyTorchNetwork, "learn", lambda *given: learn(right, *given))


def _first_weight_kept(right: Any, self: Any, batches: Any) -> Any:
    first = self.trainable()[0]
    before = first.detach().clone()
    loss = right(self, batches)
    with torch.no_grad():
        first.copy_(before)
    return loss


def _not_finite(right: Any, self: Any, batches: Any) -> Any:
    loss = right(self, batches)
    with torch.no_grad():
        self.trainable()[0][0] = float("nan")
    return loss


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "learning rate off by 1 %": _of_options("momentum", learning_rate=Schedule(0.0101)),
    "schedule ignored": _of_options("scheduled", learning_rate=Schedule(0.01)),
    "no momentum": _of_options("momentum", momentum=0.0),
    "momentum off by 1 %": _of_options("momentum", momentum=0.909),
    "momentum instead of nesterov": _of_options("nesterov", name="momentum"),
    "second beta off": _of_options("adam", betas=(0.9, 0.99)),
    "eps of adam off": _of_options("adam", eps=1e-4),
    "adam instead of adamw": _of_options("adamw", name="adam"),
    "no weight decay": _of_options("lamb", weight_decay=0.0),
    "adagrad instead of rmsprop": _of_options("rmsprop", name="adagrad"),
    "not clipped": _of_options("clipped", clip_norm=None),
    "two updates": _of_step("sgd", lambda right, self, batches: (right(self, batches), self.update.step())[0]),
    "no update": _of_step("sgd", lambda right, self, batches: self.differentiate(batches)),
    "a weight without update": _of_step("adam", _first_weight_kept),
    "not finite": _of_step("sgd", _not_finite),
}
NAMED: dict[str, dict[str, Any]] = {
    "scheduled": {"name": "sgd", "learning_rate": WARMUP},
    "clipped": {"name": "sgd", "clip_norm": 0.01},
    "adamw": {"name": "adamw", "weight_decay": 0.1},
    "lamb": {"name": "lamb", "weight_decay": 0.1},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(checked: Any, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = FAULTS[fault]
    optimizer = NAMED.get(name, {"name": name})
    assert checked(optimizer=optimizer).verdict == PASSED
    plant(monkeypatch)
    found = checked(optimizer=optimizer)
    assert found.verdict == FAILED
    assert re.match(r"the weights (of shape \d+(x\d+)? )?after step \d ", found.reason)
    assert found.update.is_wrong


def test_a_bias_without_update_is_found_among_many_weights(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_last(right: Any, self: Any, batches: Any) -> Any:
        bias = self.trainable()[-1]
        before = bias.detach().clone()
        loss = right(self, batches)
        with torch.no_grad():
            bias.copy_(before)
        return loss

    case = {"model_options": {"input_size": 300, "hidden_size": 300, "classes": 3}}
    case["optimizer"] = {"name": "adam", "learning_rate": 1e-5}
    assert checked(**case).update.bound_ratio < 0.5
    _, plant = _of_step("adam", without_last)
    plant(monkeypatch)
    found = checked(**case)
    assert found.verdict == FAILED
    assert list(found.update.worst_shape) == [3]
    assert found.reason.startswith("the weights of shape 3 after step ")
    assert found.update.error == pytest.approx(1.0, abs=0.01)


def _with_noise(monkeypatch: pytest.MonkeyPatch, noise: float) -> None:
    right = PyTorchNetwork.differentiate

    def varying(self: Any, batches: Any) -> Any:
        loss = right(self, batches)
        for weight in self.trainable():
            weight.grad *= 1 + noise * (2 * torch.rand(weight.shape) - 1)
        return loss

    monkeypatch.setattr(PyTorchNetwork, "differentiate", varying)


def test_gradients_that_vary_raise_the_tolerance(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_noise(monkeypatch, 0.01)
    found = checked(optimizer="sgd")
    assert found.verdict == PASSED
    assert found.update.error > 1e-3


def test_gradients_that_vary_too_much_are_not_compared(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose results are random is no false alarm."""
    _with_noise(monkeypatch, 0.2)
    found = checked(optimizer="sgd")
    assert (found.verdict, found.update.steps) == (PASSED, 0)
    assert found.update.reason.startswith("step 1 changes the weights that can be compared by 0 of the norm of all, ")


def test_gradients_of_keys_that_are_0_but_for_rounding_are_no_false_alarm(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that adds in another order than its gradients alone, as if a compiler had made two programs of them."""
    right, sizes = PyTorchNetwork.learn, {"hidden_size": 32, "layers": 2, "feed_forward_size": 64}

    def reordered(self: Any, batches: Any) -> Any:
        return right(self, [(inputs.flip(0), labels.flip(0)) for inputs, labels in batches])

    monkeypatch.setattr(PyTorchNetwork, "learn", reordered)
    for optimizer in ("adam", "adagrad", "rmsprop", "lamb"):
        found = checked(model="transformer", model_options={**TRANSFORMER, **sizes}, optimizer={"name": optimizer})
        assert (found.verdict, found.update.steps) == (PASSED, update_check.STEPS)
        assert 0 < found.update.bound_ratio < 0.5


def test_norms_of_large_tensors_in_float32_are_no_false_alarm(checked: Any) -> None:
    sizes = {"input_size": 5, "hidden_size": 1500, "classes": 3}
    found = checked(model="mlp", model_options=sizes, optimizer={"name": "lamb"})
    assert (found.verdict, found.update.steps) == (PASSED, update_check.STEPS)
    assert found.update.bound_ratio < 0.5


def test_updates_that_are_too_small_are_not_compared(checked: Any) -> None:
    found = checked(optimizer={"name": "sgd", "learning_rate": 1e-9})
    assert (found.verdict, found.update.steps, found.update.error) == (PASSED, 0, None)
    assert found.update.reason.startswith("step 1 changes the weights that can be compared by ")


def test_no_further_step_is_compared_after_the_time_limit(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_check, "LIMIT_S", -1.0)
    found = checked()
    assert (found.verdict, found.update.steps) == (PASSED, 1)
    assert found.update.reason.startswith("1 of 3 steps took longer than ")


def test_steps_after_the_weights_overflow_are_not_compared(checked: Any) -> None:
    found = checked(optimizer={"name": "sgd", "learning_rate": 1000, "weight_decay": 1000})
    assert (found.verdict, found.update.reason) == (PASSED, "the weights are not finite after step 3")
    assert found.update.steps == 2


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        (PASSED, {"task": "backward"}),
        (PASSED, {"task": "inference"}),
        (FAILED, {}),
        (NOT_VALIDATED, {"model_options": {"input_size": 31_000, "hidden_size": 1000, "layers": 1}}),
    ],
    ids=str,
)
def test_networks_that_failed_or_are_too_large_and_other_tasks_are_not_checked(
    checked: Any, before: str, changes: dict[str, Any]
) -> None:
    assert checked(before, **changes) == Validation(before, duration_s=1.0)


def test_updates_of_cases_that_no_reference_exists_for_are_not_checked(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaled losses in float16, and the averages of ranks, are not part of the definitions."""
    monkeypatch.setattr(update_check, "why_not_alone", lambda problem: "networks are validated in float32 only")
    assert checked(NOT_VALIDATED).update is None


def test_updates_with_gradients_that_have_no_reference_are_checked(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checked(NOT_VALIDATED)
    assert (found.verdict, found.update.steps) == (NOT_VALIDATED, update_check.STEPS)
    _, plant = FAULTS["no update"]
    plant(monkeypatch)
    assert checked(NOT_VALIDATED).verdict == FAILED


def test_a_check_that_runs_out_of_memory_keeps_the_verdict_on_the_network(
    checked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*given: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(PyTorchNetwork, "learn", exhausted)
    found = checked(optimizer="sgd")
    assert (found.verdict, found.update.steps) == (PASSED, 0)
    assert found.update.reason == "the check of the updates ran out of memory"


def test_other_errors_of_the_check_are_raised(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(PyTorchNetwork, "learn", broken)
    with pytest.raises(ZeroDivisionError):
        checked(optimizer="sgd")


def test_the_norms_of_lamb_are_exact_for_a_million_weights(checked: Any) -> None:
    """In float32, PyTorch's norms of so many numbers are wrong by 2e-4."""
    large = {"input_size": 1024, "hidden_size": 1024, "classes": 3}
    found = checked(model_options=large, optimizer={"name": "lamb", "learning_rate": 0.1})
    assert found.update.error < 1e-5
