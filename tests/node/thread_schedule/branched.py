"""A module with branches. It needs torch: import it where that is known to be."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from hpcbench.node.thread_schedule import cpus


class Noting(nn.Module):
    """Tells which thread called it, with how many threads to compute."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.called: list[tuple[int, int]] = []

    def forward(self, batch: Any) -> Any:
        self.called.append((threading.get_ident(), torch.get_num_threads()))
        time.sleep(0.02)  # so that another branch is not left to the same thread
        return self.linear(batch)


class Inception(nn.ModuleList):
    """Branches of one input."""

    def forward(self, batch: Any) -> Any:
        return torch.cat([branch(batch) for branch in self], 1)


def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with four CPUs. Threads are bound to those that there are."""
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1, 2, 3])
    count = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(count)
