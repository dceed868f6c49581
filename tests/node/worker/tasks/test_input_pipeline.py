"""The input pipeline with cold files, by a network that only keeps batches ready, as data loaders do."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcbench.node.host import hardware
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.worker.tasks import input_pipeline
from hpcbench.node.workload import page_cache
from hpcbench.node.workload.data import Items, Split

CPUS = [0, 1, 2]
TIMED = 5  # steps in a window


class Ahead:
    """A batch is the number of evictions when it was read. A full queue of them is ready before each step."""

    def __init__(self, folder: Path, state: str | None) -> None:
        path = folder / "0.png"
        path.write_bytes(b"0" * 4096)
        items = Items([str(path)], np.zeros(1, np.int32))
        parameters = {"page_cache": state}
        self.problem = SimpleNamespace(parameters=parameters, split=Split(items, items, 1), steps_per_epoch=1000)
        self.evictions = 0
        self.queue: deque[int] = deque()
        self.fill()

    def fill(self) -> None:
        self.queue += [self.evictions] * (2 * (len(CPUS) - 1) - len(self.queue))

    def drop(self, file: str) -> None:
        self.evictions += 1

    def fetch(self) -> int:
        found = self.queue.popleft()
        self.fill()
        return found

    def synchronize(self) -> None:
        pass


@pytest.mark.parametrize(("state", "evictions"), [("cold", 3), ("warm", 0)])
def test_batches_that_were_read_before_an_eviction_are_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, evictions: int
) -> None:
    network: Any = Ahead(tmp_path, state)
    monkeypatch.setattr(page_cache, "drop", network.drop)
    monkeypatch.setattr(hardware, "usable_cpus", lambda: CPUS)
    stale = []

    def windows(step: Any, synchronize: Any, settings: Any, agree: Any) -> None:
        for window in range(2):
            assert agree(window) == window
            stale.extend(network.evictions - step() for _ in range(TIMED))

    monkeypatch.setattr(input_pipeline.timing, "measure", windows)
    facts: Any = {"warnings": []}
    input_pipeline.measure(network, None, Group(Ranks(0, 1)), facts)  # type: ignore[arg-type]
    assert network.evictions == evictions
    assert stale == [0] * 2 * TIMED
