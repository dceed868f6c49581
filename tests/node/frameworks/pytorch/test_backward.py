"""The task backward in PyTorch: gradients as of autograd itself, and the memory of saved activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: the task backward in PyTorch")

from hpcbench.node.frameworks import load  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.saved_tensors import saved_bytes  # noqa: E402

BATCH, INPUTS, HIDDEN, CLASSES = 4, 5, 6, 3
OPTIONS = {"input_size": INPUTS, "hidden_size": HIDDEN, "layers": 1, "classes": CLASSES}


@pytest.fixture
def build(make_parameters: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """An MLP with one hidden layer on the CPU, through the adapter."""

    def make(**changes: Any) -> Any:
        asked = {"model_options": OPTIONS, "batch_size": BATCH, "task": "backward", **changes}
        return load("pytorch").build(problem.of_case(make_parameters(model="mlp", **asked), Group(Ranks(0, 1))))

    return make


def test_gradients_are_those_of_autograd_and_do_not_accumulate(build: Any) -> None:
    network = build()
    inputs, labels = network.on_device(*network.problem.batch())
    expected = torch.autograd.grad(network.loss(inputs, labels), list(network.model.parameters()))
    for _ in range(3):
        network.backward()
    for found, gradient in zip(network.gradients(), expected, strict=True):
        np.testing.assert_allclose(found, gradient.numpy(), rtol=1e-6)


def test_saved_activations_are_the_arrays_of_the_backward_pass_alone(build: Any) -> None:
    """The hidden layer after ReLU is input of the next layer, too; the loss keeps its softmax and one weight."""
    expected = 4 * (BATCH * HIDDEN + BATCH * CLASSES + 1)
    found = build().saved_activations()
    assert found.bytes == expected
    assert found.method == "torch.autograd.graph.saved_tensors_hooks"
    assert build(batch_size=2 * BATCH).saved_activations().bytes > 1.9 * expected


def test_a_storage_counts_once_and_whole_and_weights_do_not() -> None:
    weight = torch.ones(8, requires_grad=True)
    activation = torch.ones(8, requires_grad=True)

    def forward() -> Any:
        made = activation + 0
        return (made[:2] * made[2:4] * weight[:2]).sum() + (made * weight).sum()

    assert saved_bytes(forward, [weight]) == 4 * (8 + 2)  # made, and the product of its slices
    assert saved_bytes(forward, []) == 4 * (8 + 2 + 8)


def test_sharded_weights_give_a_reason_instead_of_a_number(build: Any) -> None:
    network = build()
    network.problem.parameters["strategy"] = "fsdp"
    found = network.saved_activations()
    assert found.bytes is None
    assert found.reason == "saved tensors include the gathered weights of this strategy"
