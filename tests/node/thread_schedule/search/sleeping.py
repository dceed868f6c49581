"""A module that sleeps, in the place of a wide or a narrow one. It needs torch: import it where that is known to be."""

from __future__ import annotations

import time
from typing import Any

import torch


class Sleeping(torch.nn.Module):
    """Takes so long with one thread, and so long with two."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, batch: Any) -> Any:
        time.sleep(self.seconds[torch.get_num_threads() - 1])
        return batch
