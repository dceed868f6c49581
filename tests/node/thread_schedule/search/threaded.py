"""A module with a thread of its own. It needs torch: import it where that is known to be."""

from __future__ import annotations

import threading
from typing import Any

import torch

WIDE = torch.ones(512, 512)


class Threaded(torch.nn.Module):
    """Computes in a thread of its own, which knows nothing of the counts of others."""

    def forward(self, batch: Any) -> Any:
        def work() -> None:
            for _ in range(20):
                torch.mm(WIDE, WIDE)

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(20):
            torch.mm(WIDE, WIDE)
        thread.join()
        return batch + 1
