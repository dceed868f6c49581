"""The validation of a user's models in PyTorch against themselves in float64: no false alarms, and planted faults."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.typed_json import to_json
from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.node.host import cpuinfo
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem as problems

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the validation of a user's models")

from hpcbench.node.frameworks import load  # noqa: E402 - they need torch
from hpcbench.node.frameworks.external.exact import Slope  # noqa: E402
from hpcbench.node.frameworks.external.network import ExternalNetwork  # noqa: E402
from hpcbench.node.frameworks.pytorch.network import PyTorchNetwork  # noqa: E402
from hpcbench.node.worker.validation import external_networks, network_limits  # noqa: E402
from hpcbench.node.worker.validation.external_networks import validate_external  # noqa: E402
from hpcbench.node.worker.validation.update_check import STEPS, with_updates  # noqa: E402

NETS = """
import torch
from torch import nn
from torch.nn import functional

def dense():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 32), nn.LayerNorm(32), nn.Tanh(), nn.Linear(32, 3))

def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5), nn.Flatten(),
        nn.Linear(8, 3),
    )

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(12, 2, 16, dropout=0.1, batch_first=True)
        self.output = nn.Linear(12, 3)

    def forward(self, x):
        return self.output(self.inner(x.flatten(1).unsqueeze(1).expand(-1, 4, -1)).mean(1))

def attention():
    return Attention()

class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.dense = function, nn.Linear(12, 3)

    def forward(self, x):
        return self.function(self.dense(x.flatten(1)))

class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2.999 * x ** 2

def wrong_backward():
    return Function(Wrong.apply)

class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.output, self.unused = nn.Linear(12, 3), nn.Linear(12, 12)

    def forward(self, x):
        return self.output(x.flatten(1))

def unused():
    return Unused()

def half():
    return Function(lambda x: x.float() + torch.zeros(3, dtype=torch.float32))

def drops():
    return Function(lambda x: functional.dropout(x, 0.5, True))

TABLE = torch.ones(3)

def constant():
    return Function(lambda x: x * TABLE.exp())

def only_float32():
    def checked(x):
        if x.dtype != torch.float32:
            raise TypeError("float32 is required")
        return x
    return Function(checked)

def step(model, inputs, targets, optimizer):
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss
"""


@pytest.fixture
def validated(
    make_parameters: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Validation]]:
    """The validation of one of NETS on the CPU."""
    (tmp_path / "nets_to_validate.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def make(function: str, **changes: Any) -> Validation:
        own = {"batch_size": 16, "task": "training", "input": {"shape": [3, 2, 2]}, **changes}
        parameters = make_parameters(model=f"nets_to_validate:{function}", **own)
        adapter = load("pytorch")
        network: Any = adapter.build(problems.of_case(parameters, Group(Ranks(0, 1))))
        return with_updates(validate_external(adapter, network, None, []), adapter, network)

    threads = torch.get_num_threads()
    yield make
    sys.modules.pop("nets_to_validate", None)
    assert torch.get_num_threads() == threads
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize("task", ["inference", "training", "backward"])
@pytest.mark.parametrize("function", ["dense", "convolutions", "attention", "half"])
def test_no_correct_model_is_a_false_alarm(validated: Any, function: str, task: str) -> None:
    for seed in range(3):
        found = validated(function, task=task, seed=seed)
        assert (found.verdict, found.reason) == (PASSED, None)
        assert 0 < found.worst.ratio < 0.5
        assert {each.reason for each in found.arrays.values()} == {None}
        assert (found.update and found.update.steps) == (STEPS if task == "training" else None)
        assert found.repeatability.bitwise
        if task == "inference":
            assert list(found.arrays) == ["output"]
            assert found.gradient_check is None
        else:
            assert found.gradient_check.error < external_networks.GRADIENT_TOLERANCE / 10
            assert {"loss"} < set(found.arrays)


@pytest.mark.parametrize("options", [{"name": "adamw"}, {"name": "lamb"}, {"name": "sgd", "weight_decay": 1}], ids=str)
def test_weights_that_the_loss_does_not_depend_on_may_keep_their_values(
    validated: Any, options: dict[str, Any]
) -> None:
    """PyTorch does not decay weights without a gradient."""
    found = validated("unused", optimizer=options)
    assert (found.verdict, found.update.steps) == (PASSED, STEPS)
    assert 0 < found.update.bound_ratio < 0.5


def _in_float32(kind: str, wrong: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace the forward pass of a module of PyTorch, but only in float32: the reference is right."""
    right = getattr(torch.nn, kind).forward

    def forward(self: Any, x: Any) -> Any:
        return wrong(right, self, x) if x.dtype == torch.float32 else right(self, x)

    return lambda patch: patch.setattr(getattr(torch.nn, kind), "forward", forward)


def _of_gradient(place: int, wrong: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Change the gradient of one weight of the network."""
    right = PyTorchNetwork.gradients

    def gradients(self: Any) -> Any:
        return (wrong(each) if number == place else each for number, each in enumerate(right(self)))

    return lambda patch: patch.setattr(PyTorchNetwork, "gradients", gradients)


def _rounded(x: Any) -> Any:
    """Return numbers with the 10 bits of TF32."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "TF32": ("dense", _in_float32("Linear", lambda right, self, x: right(self, _rounded(x)))),
    "no bias": ("dense", _in_float32("Linear", lambda right, self, x: torch.nn.functional.linear(x, self.weight))),
    "epsilon": (
        "dense",
        _in_float32(
            "LayerNorm",
            lambda right, self, x: torch.nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-3),
        ),
    ),
    "flipped kernel": (
        "convolutions",
        _in_float32("Conv2d", lambda right, self, x: self._conv_forward(x, self.weight.flip(2), self.bias)),
    ),
    "running statistics": (
        "convolutions",
        _in_float32("BatchNorm2d", lambda right, self, x: x * self.weight[:, None, None] + self.bias[:, None, None]),
    ),
    "dropout": (
        "convolutions",
        _in_float32("Dropout", lambda right, self, x: torch.nn.functional.dropout(x, 0.1)),
    ),
    "gradient twice": ("dense", _of_gradient(0, lambda gradient: 2 * gradient)),
    "gradient off by 1e-4": ("dense", _of_gradient(0, lambda gradient: (1 + 1e-4) * gradient)),
    "zero gradient": ("attention", _of_gradient(2, lambda gradient: 0 * gradient)),
    "not a number": ("attention", _of_gradient(2, lambda gradient: float("nan") * gradient)),
    "other shape": ("dense", _of_gradient(0, lambda gradient: gradient.T)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_is_found(validated: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    function, plant = FAULTS[name]
    plant(monkeypatch)
    found = validated(function)
    assert found.verdict == FAILED
    if name == "other shape":
        assert found.reason.startswith("the shape of the gradient of 1.weight is")
    else:
        assert found.worst.ratio > 1
        assert found.error_map.array == found.worst.array


def test_the_weight_whose_gradient_alone_is_wrong_is_named(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _of_gradient(4, lambda gradient: 1.01 * gradient)(monkeypatch)
    found = validated("dense")
    assert found.worst.array == "4.weight"
    assert found.reason.startswith("the L2 norm of the error of the gradient of 4.weight is")


def test_a_wrong_backward_pass_of_the_user_differs_from_central_differences(validated: Any) -> None:
    found = validated("wrong_backward")
    assert found.verdict == FAILED
    assert found.reason.startswith("the gradients differ from central differences by")
    assert found.worst.ratio < 1  # float32 has the same wrong gradient
    assert validated("wrong_backward", task="inference").verdict == PASSED


@pytest.mark.parametrize(
    ("function", "changes", "reason"),
    [
        ("drops", {}, "the model returns random results, for example because a function calls dropout"),
        ("only_float32", {}, "the model cannot run in float64 (TypeError: float32 is required)"),
        ("constant", {}, "the model cannot run in float64: aten.exp.default returns fewer bits"),
        ("dense", {"dtype": "bfloat16"}, "networks are validated in float32 only"),
        (
            "dense",
            {"step": "nets_to_validate:step"},
            "cases with `step` are not validated, because your function also updates the weights",
        ),
    ],
)
def test_what_is_not_validated_has_a_reason(
    validated: Any, monkeypatch: pytest.MonkeyPatch, function: str, changes: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr(cpuinfo, "computes_in", lambda dtype: True)  # PyTorch emulates bfloat16 on other CPUs
    found = validated(function, **changes)
    assert found.verdict == NOT_VALIDATED
    assert found.reason.startswith(reason)


def test_gradients_whose_check_is_not_finite_are_wrong_and_the_record_has_no_nan(
    validated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    slopes = iter([float("nan"), 1.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr(
        "hpcbench.node.frameworks.pytorch.external.exact.ExactModel.slope",
        lambda self, seed, step: Slope(next(slopes), 1.0, 1.0),
    )
    found = validated("dense")
    assert (found.verdict, found.gradient_check.error) == (FAILED, None)
    assert found.reason == "the gradients, or the central differences, are not finite in float64"
    json.dumps(to_json(found), allow_nan=False)


def test_a_model_whose_flops_are_unknown_is_not_validated(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ExternalNetwork.work.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(ExternalNetwork, "work", property(lambda self: replace(right(self), flops_per_item=None)))
    found = validated("dense")
    assert found.verdict == NOT_VALIDATED
    assert found.reason == "the FLOPs of the model are unknown, so the reference could take hours"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("MOST_FLOPS", 1.0, "too large for the reference: a batch has"),
        ("MOST_WEIGHTS", 1e-3, "too large for the reference: the model has more than"),
        ("LOOSE", 1e-9, "rounding to float32 changes the results by"),
    ],
)
def test_large_or_badly_conditioned_models_have_a_reason(
    validated: Any, monkeypatch: pytest.MonkeyPatch, name: str, value: float, reason: str
) -> None:
    monkeypatch.setattr(network_limits if name == "MOST_WEIGHTS" else external_networks, name, value)
    found = validated("dense")
    assert found.verdict == NOT_VALIDATED
    assert found.reason.startswith(reason)
