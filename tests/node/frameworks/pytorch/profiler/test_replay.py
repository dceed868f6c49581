"""Calls that can be repeated, with arguments of a real step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.node.frameworks.pytorch.tiny import TINY

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler import replay, step  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.arguments import copied, tensors  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.kinds import VIEW  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.listing import Key  # noqa: E402

Build = Callable[..., Any]
LARGE = ("alexnet", "vgg16", "resnet50", "inception_v3")
MODELS = [pytest.param(name, marks=[pytest.mark.long] if name in LARGE else []) for name in TINY]
TASKS = ({"task": "inference"}, {"task": "training", "optimizer": {"name": "adamw"}})


def captured(network: Any, keys: list[Key]) -> list[replay.Captured]:
    return list(replay.captured(step.step_of(step.observable(network)), keys))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["task"])
@pytest.mark.parametrize("model", MODELS)
def test_every_operator_can_be_called_again(build: Build, model: str, task: dict[str, Any]) -> None:
    network = build(model, **task)
    keys = [each.key for each in step.operators(network, []) if each.kind != VIEW]
    found = captured(network, keys)
    assert {each.key for each in found} == set(keys)
    with torch.inference_mode():
        for each in found:
            for call in each.round(2).calls[:3]:
                call()


def test_the_memory_limit_takes_several_steps_to_the_same_operators(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = build("mlp")
    keys = [each.key for each in step.operators(network, []) if each.kind != VIEW]
    monkeypatch.setattr(replay, "_CAPTURED_BYTES", 0)
    steps = []
    real = step.step_of(step.observable(network))
    counted = real._replace(run=lambda: steps.append(real.run()))
    assert {each.key for each in replay.captured(counted, keys)} == set(keys)
    assert len(steps) == len(keys)


def test_an_operator_that_changes_its_arguments_gets_their_values_again(build: Build) -> None:
    """A decay by 0.9 for some thousand calls would otherwise end in denormals."""
    network = build("mlp", task="training", optimizer={"name": "momentum"})
    keys = [each.key for each in step.operators(network, []) if each.key.operator == "aten.mul_.Tensor"]
    step.step_of(network).run()  # creates the momentum
    (first, *_) = captured(network, keys)
    calls = first.round(1)
    (tensor, *_) = tensors(calls.calls[0].args)
    initial = tensor.clone()
    assert initial.abs().max() > 0
    assert calls.size == len(calls.calls) - 1
    for _ in range(20):
        for call in calls.calls[:-1]:
            call()
        assert 0 < tensor.abs().max() < initial.abs().max()
        calls.calls[-1]()
        assert torch.equal(tensor, initial)


def test_only_weights_take_turns_in_the_stream(build: Build) -> None:
    network = build("mlp")
    (key, *_) = [each.key for each in step.operators(network, []) if each.kind == "gemm"]
    (gemm,) = captured(network, [key])
    stream, cold = gemm.round(3, weights_only=True).calls, gemm.round(3).calls
    assert len({call.args[1].data_ptr() for call in stream}) == 1  # the input
    assert len({call.args[2].data_ptr() for call in stream}) == 3  # the weight
    assert len({call.args[1].data_ptr() for call in cold}) == 3


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2),
        torch.arange(3.0).expand(4, 3),
        torch.arange(24.0).reshape(4, 6)[1:3, ::2],
        torch.arange(16.0).reshape(1, 2, 2, 4).to(memory_format=torch.channels_last),
        torch.tensor(2.0),
        torch.empty(0, 3),
    ],
)
def test_copies_have_values_and_strides(tensor: Any) -> None:
    copy = copied([tensor])[0]
    assert torch.equal(copy, tensor)
    assert copy.stride() == tensor.stride()
    assert copy.data_ptr() != tensor.data_ptr() or not tensor.numel()


def test_a_tensor_that_occurs_twice_is_copied_once() -> None:
    tensor = torch.ones(3)
    one, other = copied([tensor, {"again": tensor}])
    assert one is other["again"]
