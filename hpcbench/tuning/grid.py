"""The full grid: every setting as often and as long as the experiment asks, to check what a search has found."""

from __future__ import annotations

from collections.abc import Collection

from hpcbench.tuning.blocks import Notebook, Search
from hpcbench.tuning.stages import Stage


def whole_grid(notebook: Notebook, settings: Collection[int], repetitions: int) -> Search[None]:
    """Measure all of them in blocks."""
    for _ in range(repetitions):
        yield from notebook.measure(settings, Stage.FULL)
