"""PyTorch's DataLoader, as the adapter uses it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hpcbench.node.host import hardware
from hpcbench.node.workload.data import Items

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: its DataLoader")

SIZE = 4


def children() -> set[str]:
    return set(Path("/proc/thread-self/children").read_text().split())


@pytest.mark.skipif(len(hardware.usable_cpus()) < 2, reason="needs two CPUs; not run: processes that decode images")
def test_the_processes_that_decode_what_is_held_out_are_started_once(tmp_path: Path) -> None:
    from hpcbench.node.frameworks.pytorch.data import Pipelines

    paths = [str(tmp_path / f"{number}.png") for number in range(6)]
    for number, path in enumerate(paths):
        Image.fromarray(np.full((SIZE, SIZE, 3), 10 * number, np.uint8)).save(path)
    items = Items(paths, np.arange(6, dtype=np.int32))
    group = SimpleNamespace(rank=0)
    asked: Any = SimpleNamespace(
        parameters={"batch_size": 2, "seed": 3}, group=group, item_shape=(3, SIZE, SIZE), on_gpu=False
    )
    pipelines, before = Pipelines(asked), children()
    processes = []
    for _ in range(2):
        batches = pipelines.batches(items, forever=False)
        labels = [label for _, found in batches for label in found.tolist()]
        assert labels == list(range(6)), "each evaluation brings all items, in order"
        processes.append(children() - before)
    assert len(processes[0]) == len(hardware.usable_cpus()) - 1
    assert processes[0] == processes[1]
