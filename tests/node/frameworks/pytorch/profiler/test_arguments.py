"""The arguments of operators as text: workspaces of libraries, other tensors of bytes, and long lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.collect.profiles.lines import MAX_LINE

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler import arguments, in_network, listing, step  # noqa: E402 - they need torch


def rows_of(run: Callable[[], Any]) -> list[listing.Listed]:
    return listing.listed(listing.Step(run, frozenset))


def test_bytes_in_one_dimension_count_unless_they_are_a_workspace() -> None:
    image, other = torch.ones(1000, dtype=torch.uint8), torch.ones(1000, dtype=torch.uint8)
    (row,) = rows_of(lambda: image + other)
    assert (row.bytes_moved, row.output_bytes) == (3000, 1000)
    assert json.loads(row.key.arguments)["self"] == {"shape": [1000], "strides": [1], "dtype": "uint8"}


def test_the_workspace_of_a_recurrent_layer_is_opaque(build: Callable[..., Any]) -> None:
    network = build("lstm", task="training")
    found = step.operators(network, [])
    real = step.step_of(step.observable(network))
    real.run()
    assert found == listing.listed(real), "the size of a real workspace is not there"
    (forward,) = [each for each in found if "mkldnn_rnn_layer.default" in each.key.operator]
    (backward,) = [each for each in found if "mkldnn_rnn_layer_backward" in each.key.operator]
    assert json.loads(backward.key.arguments)["workspace"] == "opaque"
    state = 4 * 2 * 8  # bytes
    assert forward.output_bytes == 5 * state + 2 * state, "without the workspace"


def test_results_of_a_fake_gru_of_cudnn_have_a_workspace() -> None:
    """A GRU has no state of cells, so that the workspace is the third tensor."""
    output, state, reserve, weights = torch.ones(5, 8), torch.ones(8), torch.ones(9, dtype=torch.uint8), torch.ones(4)
    results = [output, state, reserve, weights]
    assert arguments.workspaces(torch.ops.aten._cudnn_rnn.default, {}, results) == {id(reserve)}
    assert not arguments.workspaces(torch.ops.aten.cat.default, {}, results)


@pytest.mark.parametrize(("count", "short"), [(500, False), (501, True), (2500, True)])
def test_long_lists_of_tensors_are_described_by_number_and_total(count: int, short: bool) -> None:
    weights = [torch.nn.Parameter(torch.ones(2, 64)) for _ in range(count)]
    for weight in weights:
        weight.grad = torch.ones(2, 64)
    optimizer = torch.optim.AdamW(weights, fused=True)
    optimizer.step()
    (fused,) = [each for each in rows_of(optimizer.step) if "_fused_adamw_" in each.key.operator]
    assert len(fused.key.arguments) < MAX_LINE / 2
    given = json.loads(fused.key.arguments)["self"]
    if short:
        assert given == {"tensors": count, "elements": count * 128, "dtypes": ["float32"]}
    else:
        assert len(given) == count
    assert fused.bytes_moved == count * (7 * 4 * 128 + 4), "all tensors count"
    assert in_network._shapes_of_key(fused.key) == ()
