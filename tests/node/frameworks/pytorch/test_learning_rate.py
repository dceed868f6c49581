"""A learning rate over epochs of the data, in PyTorch's optimizer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: the learning rate of its optimizer")

from hpcbench.node.frameworks import load  # noqa: E402 - it needs torch

ITEMS, BATCH, EPOCH = 14, 2, 5  # four items are held out


def test_the_rate_changes_after_whole_epochs(make_parameters: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    np.savez(tmp_path / "items.npz", x=np.ones((ITEMS, 4), np.float32), y=np.arange(ITEMS) % 3)
    rate = {"schedule": "steps", "unit": "epochs", "peak": 0.1, "milestones": [[2, 0.01], [3, 0.001]]}
    parameters = make_parameters(
        task="training",
        data={"npz": str(tmp_path / "items.npz")},
        held_out=0.3,
        batch_size=BATCH,
        model_options={"input_size": 4, "hidden_size": 4, "classes": 3},
        optimizer={"name": "sgd", "learning_rate": rate},
    )
    network: Any = load("pytorch").build(problem.of_case(parameters, Group(Ranks(0, 1))))
    found = []
    for _ in range(4 * EPOCH):
        found.append(network.update.optimizer.param_groups[0]["lr"])
        network.train()
    network.close()
    assert found == pytest.approx([0.1] * 2 * EPOCH + [0.01] * EPOCH + [0.001] * EPOCH)
