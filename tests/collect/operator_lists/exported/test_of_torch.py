"""Programs that the real torch.export saved have the operators that PyTorch launches."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hpcbench.collect.operator_lists.exported.program import exported_program
from hpcbench.predict.aten.convert import ORIGIN, converted

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: exported programs of PyTorch")

from hpcbench.node.frameworks.pytorch.profiler import listing  # noqa: E402 - it needs torch

BATCH = 3


def networks() -> dict[str, tuple[Any, Any]]:
    nn = torch.nn
    images = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(32, 10)]
    encoder = [nn.Linear(16, 64), nn.LayerNorm(64), nn.GELU(), nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)]
    return {
        "images": (nn.Sequential(*images, *head), (3, 32, 32)),
        "encoder": (nn.Sequential(*encoder), (20, 16)),
    }


def totals(operators: pd.DataFrame) -> pd.DataFrame:
    """Return calls, FLOPs and bytes of all calls by kind."""
    works = converted(operators)
    calls = operators["calls"].to_numpy()[works[ORIGIN].to_numpy()]
    sums = works.assign(calls=calls, flops=works["flops"] * calls, bytes=works["bytes"] * calls)
    return sums.groupby("kind")[["calls", "flops", "bytes"]].sum()


@pytest.mark.parametrize("name", ["images", "encoder"])
def test_kinds_and_flops_are_those_of_the_forward_pass(name: str, tmp_path: Path) -> None:
    network, shape = networks()[name]
    network.eval()
    batch = torch.export.Dim("batch")
    with torch.no_grad():
        program = torch.export.export(network, (torch.zeros(2, *shape),), dynamic_shapes=({0: batch},))
        torch.export.save(program, tmp_path / "net.pt2")
        inputs = torch.zeros(BATCH, *shape)
        step = listing.Step(lambda: network(inputs), lambda: listing.weights_of(network, None))
        launched = [{**each._asdict(), **each.key._asdict()} for each in listing.listed(step)]
    ours = exported_program(tmp_path / "net.pt2").operators(BATCH)
    found = totals(pd.DataFrame([asdict(each) for each in ours.operators]))
    expected = totals(pd.DataFrame(launched))
    assert ours.parameter_count == sum(each.numel() for each in network.parameters())
    products = ["gemm", "conv", "attention"]
    assert "unknown" not in found.index
    for kind in expected.index.intersection(products):
        assert found.loc[kind, "flops"] == pytest.approx(expected.loc[kind, "flops"])
    assert found["bytes"].sum() == pytest.approx(expected["bytes"].sum(), rel=0.15)
