"""The validation of networks in PyTorch: no correct network is a false alarm, and each planted fault is found."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.core.validation.result import FAILED, NOT_VALIDATED, PASSED, Validation
from hpcbench.models import layers
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem as problems

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the validation of networks")

from hpcbench.node.frameworks import load  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.network import PyTorchNetwork  # noqa: E402
from hpcbench.node.frameworks.pytorch.update import Update  # noqa: E402
from hpcbench.node.worker.validation import networks  # noqa: E402
from hpcbench.node.worker.validation.networks import validate_network  # noqa: E402

CONVOLUTIONS = [
    *(layers.Conv(4, (3, 3), 1, (1, 1)), layers.BatchNorm(), layers.Relu(), layers.MaxPool(2, 2)),
    *(layers.Conv(5, (3, 1), 2, bias=False), layers.Relu(), layers.AvgPool(2, 1, 1), layers.Flatten()),
    *(layers.Dropout(0.5), layers.Dense(3)),
]
ATTENTION = {"hidden_size": 8, "layers": 1, "heads": 2, "feed_forward_size": 8}
OPTIONS: dict[str, dict[str, Any]] = {
    "mlp": {"input_size": 5, "hidden_size": 6, "classes": 3},
    "lstm": {"input_size": 3, "hidden_size": 4, "sequence_length": 4, "classes": 3, "bidirectional": True},
    "gpt": {**ATTENTION, "vocabulary": 9, "positions": 6, "sequence_length": 5},
    "transformer": {**ATTENTION, "vocabulary": 9, "positions": 4, "sequence_length": 4, "classes": 3},
}


@pytest.fixture
def validated(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., Validation]:
    """The validation of a small network on the CPU; `convolutions` is not a shipped model, but made of its layers."""

    def make(model: str, **changes: Any) -> Validation:
        own = {"model": "mlp" if model == "convolutions" else model, "batch_size": 8, "task": "backward", **changes}
        own["model_options"] = OPTIONS[own["model"]]
        made = problems.of_case(make_parameters(**own), Group(Ranks(0, 1)))
        if model == "convolutions":
            made = replace(made, layers=CONVOLUTIONS, item_shape=(3, 9, 9))
        adapter = load("pytorch")
        return validate_network(adapter, adapter.build(made), None, [])

    return make


@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("model", ["convolutions", *OPTIONS])
def test_no_correct_network_is_a_false_alarm(validated: Any, model: str, task: str) -> None:
    for seed in range(2):
        found = validated(model, task=task, seed=seed)
        assert (found.verdict, found.reason) == (PASSED, None)
        assert 0 < found.worst.bound_ratio < 1
        assert found.repeatability.bitwise
        names = {"output"} if task == "inference" else {"loss"}
        assert names <= set(found.arrays)
        assert (len(found.arrays) == 1) == (task == "inference")


def _of_module(name: str, forward: Callable[..., Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace the forward pass of a module of PyTorch."""
    kind = getattr(torch.nn, name)
    right = kind.forward
    return lambda patch: patch.setattr(kind, "forward", lambda self, *given: forward(right, self, *given))


def _of_gradient(place: int, wrong: Callable[[Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Change the gradient of one weight of the network."""
    right = PyTorchNetwork.trainable

    def plant(patch: pytest.MonkeyPatch) -> None:
        def gradients(self: Any) -> Any:
            for number, weight in enumerate(right(self)):
                yield (wrong(weight.grad) if number == place else weight.grad).numpy()

        patch.setattr(PyTorchNetwork, "gradients", gradients)

    return plant


def _rounded(x: Any) -> Any:
    """Return numbers with the 10 bits of TF32."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "leaky relu": ("mlp", _of_module("ReLU", lambda right, self, x: torch.where(x > 0, x, 1e-4 * x))),
    "no bias": ("mlp", _of_module("Linear", lambda right, self, x: torch.nn.functional.linear(x, self.weight))),
    "TF32": ("mlp", _of_module("Linear", lambda right, self, x: right(self, _rounded(x)))),
    "flipped kernel": (
        "convolutions",
        _of_module("Conv2d", lambda right, self, x: self._conv_forward(x, self.weight.flip(2), self.bias)),
    ),
    "mean instead of maximum": (
        "convolutions",
        _of_module("MaxPool2d", lambda right, self, x: torch.nn.functional.avg_pool2d(x, 2, 2)),
    ),
    "padding not counted": (
        "convolutions",
        _of_module("AvgPool2d", lambda right, self, x: torch.nn.functional.avg_pool2d(x, 2, 1, 1, False, False)),
    ),
    "running statistics": (
        "convolutions",
        _of_module(
            "BatchNorm2d",
            lambda right, self, x: x * self.weight[:, None, None] + self.bias[:, None, None],
        ),
    ),
    "dropout": (
        "convolutions",
        _of_module("Dropout", lambda right, self, x: torch.nn.functional.dropout(x, 0.1)),
    ),
    "epsilon": (
        "gpt",
        _of_module(
            "LayerNorm",
            lambda right, self, x: torch.nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-3),
        ),
    ),
    "approximate gelu": (
        "gpt",
        _of_module("GELU", lambda right, self, x: torch.nn.functional.gelu(x, approximate="tanh")),
    ),
    "last step first": ("lstm", _of_module("LSTM", lambda right, self, x: (right(self, x)[0].flip(1), None))),
    "gradient twice": ("mlp", _of_gradient(0, lambda gradient: 2 * gradient)),
    "gradient off by 1e-4": ("gpt", _of_gradient(3, lambda gradient: (1 + 1e-4) * gradient)),
    "zero gradient": ("lstm", _of_gradient(1, torch.zeros_like)),
    "transposed gradient": ("transformer", _of_gradient(7, lambda gradient: gradient.T.contiguous())),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_is_found(validated: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    model, plant = FAULTS[name]
    plant(monkeypatch)
    found = validated(model)
    assert found.verdict == FAILED
    assert found.worst.bound_ratio > 1
    assert found.error_map.array == found.worst.array


def test_the_layer_whose_gradient_alone_is_wrong_is_named(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _of_gradient(2, lambda gradient: 1.001 * gradient)(monkeypatch)
    found = validated("mlp")
    assert found.worst.array == "2 Dense kernel"
    assert found.reason.startswith("the error of the gradient of 2 Dense kernel is")
    assert [name for name, error in found.arrays.items() if error.bound_ratio > 1] == ["2 Dense kernel"]


def test_gradients_of_batches_that_are_not_averaged_are_found(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    accumulated = {"task": "training", "optimizer": {"name": "sgd", "gradient_accumulation_steps": 5}}
    assert validated("mlp", **accumulated).verdict == PASSED
    monkeypatch.setattr(Update, "backward", lambda self, loss: loss.backward())
    found = validated("mlp", **accumulated)
    assert found.verdict == FAILED
    assert found.reason.startswith("the error of the gradient of ")


def test_a_wrong_output_is_found_in_inference(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS["leaky relu"][1](monkeypatch)
    assert validated("mlp", task="inference").reason.startswith("the error of the output is")


@pytest.mark.parametrize(
    ("model", "changes", "reason"),
    [
        ("mlp", {"dtype": "bfloat16"}, "networks are validated in float32 only"),
        ("mlp", {"batch_size": 10**8}, "too large for the reference: a batch has 16.8 GFLOP; the limit is 10 GFLOP"),
    ],
)
def test_what_is_not_validated_has_a_reason(
    make_parameters: Any, model: str, changes: dict[str, Any], reason: str
) -> None:
    parameters = make_parameters(model=model, model_options=OPTIONS[model], batch_size=2)
    network = load("pytorch").build(problems.of_case(parameters, Group(Ranks(0, 1))))
    network.problem.parameters.update(changes)
    found = validate_network(load("pytorch"), network, None, [])
    assert (found.verdict, found.reason) == (NOT_VALIDATED, reason)


def test_loose_bounds_are_not_a_pass(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "LOOSE", 1e-9)
    found = validated("mlp")
    assert found.verdict == NOT_VALIDATED
    assert "too large to detect errors" in found.reason


def test_bounds_that_are_not_finite_are_neither_a_pass_nor_a_failure(
    validated: Any, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Each normalization of two values multiplies errors, until the bounds exceed float32."""
    normalized = [
        layers.AvgPool(9, 9),
        *[layers.Conv(4, (1, 1)), layers.BatchNorm(), layers.Relu()] * 20,
        layers.Flatten(),
        layers.Dense(3),
    ]
    monkeypatch.setattr(sys.modules[__name__], "CONVOLUTIONS", normalized)
    found = validated("convolutions", batch_size=2)
    assert found.verdict == NOT_VALIDATED
    assert found.reason == "the error bound is not finite, too large to detect errors; use a larger batch"
    assert not [each for each in recwarn if "overflow" in str(each.message)]


def test_gradients_that_are_all_0_detect_no_errors(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPTIONS, "mlp", {**OPTIONS["mlp"], "classes": 1})
    found = validated("mlp")
    assert found.verdict == NOT_VALIDATED
    assert found.reason == "all results are 0, with an error bound that is too large to detect errors"


def test_a_gradient_that_a_framework_does_not_return_is_wrong(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = PyTorchNetwork.gradients
    monkeypatch.setattr(PyTorchNetwork, "gradients", lambda self: iter(list(right(self))[:-1]))
    found = validated("mlp")
    assert found.verdict == FAILED
    assert found.reason == "gradients are missing: the framework returned 5 arrays instead of 6"


def test_weights_that_a_framework_hides_are_not_guessed(validated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = PyTorchNetwork.weights
    monkeypatch.setattr(PyTorchNetwork, "weights", lambda self: iter(list(right(self))[1:]))
    found = validated("mlp")
    assert found.verdict == NOT_VALIDATED
    assert found.reason == "the weights of this framework do not match the weights of the model one to one"
