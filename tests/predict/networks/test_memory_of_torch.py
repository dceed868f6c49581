"""The memory that a forward pass saves, next to what PyTorch saves."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.predict.aten.convert import ORIGIN, converted
from hpcbench.predict.networks.memory import saved_bytes

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: memory next to PyTorch's")

from hpcbench.node.frameworks.pytorch.profiler import listing  # noqa: E402 - it needs torch


def _networks() -> dict[str, tuple[Any, Any]]:
    nn = torch.nn
    layers = [layer for _ in range(3) for layer in (nn.Linear(256, 256), nn.GELU(), nn.LayerNorm(256))]
    images = [nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU()]
    encoder = nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, dropout=0.0)
    return {
        "mlp": (nn.Sequential(*layers), torch.ones(32, 256)),
        "images": (nn.Sequential(*images), torch.ones(4, 3, 32, 32)),
        "encoder": (encoder, torch.ones(2, 128, 64)),
    }


def _saved_by_torch(module: Any, inputs: Any) -> int:
    """Return the bytes that autograd saves, each storage once, without weights."""
    weights = {each.untyped_storage()._cdata for each in (*module.parameters(), *module.buffers())}
    saved: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        if tensor.untyped_storage()._cdata not in weights:
            saved[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        module(inputs)
    return sum(int(each.untyped_storage().nbytes()) for each in saved.values())


@pytest.mark.parametrize("name", ["mlp", "images", "encoder"])
def test_saved_bytes_are_those_of_autograd_within_20_percent(name: str) -> None:
    module, inputs = _networks()[name]

    def prepare(fake: Any, batch: Any) -> Any:
        return listing.Step(lambda: fake(batch).sum().backward(), lambda: listing.weights_of(fake, None))

    found = listing.operators_of(module, inputs, prepare)
    rows = pd.DataFrame(
        {
            "kind": [each.kind for each in found],
            "operator": [each.key.operator for each in found],
            "phase": [each.key.phase for each in found],
            "arguments": [each.key.arguments for each in found],
            "dtype": [each.dtype for each in found],
            "flops": [each.flops for each in found],
            "bytes_moved": [each.bytes_moved for each in found],
            "calls": [each.calls for each in found],
        }
    )
    works = converted(rows)
    forward = works[works["phase"] == "forward"]
    calls = rows["calls"].to_numpy()[forward[ORIGIN].to_numpy()]
    assert float((saved_bytes(forward) * calls).sum()) == pytest.approx(_saved_by_torch(module, inputs), rel=0.2)
