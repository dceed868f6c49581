"""Checks of the parameters of an input pipeline that is measured alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from hpcbench.core.frameworks import INPUT_PIPELINE
from hpcbench.core.training.page_cache import COLD, STATES
from hpcbench.models.source import Source

if TYPE_CHECKING:
    from hpcbench.config.parameters import Parameters

    PageCacheState: TypeAlias = str
else:
    PageCacheState = Literal[STATES]


def check(parameters: Parameters, source: Source) -> None:
    """Raise ValueError if the parameters of an input pipeline do not fit together, or another task has them."""
    if parameters.task != INPUT_PIPELINE:
        if parameters.page_cache is not None:
            raise ValueError(f"page_cache requires task: {INPUT_PIPELINE}, not {parameters.task}")
        return
    if parameters.data is None:
        raise ValueError(f"task {INPUT_PIPELINE} requires data: synthetic input has no pipeline")
    if source.is_external:
        raise ValueError(f"task {INPUT_PIPELINE} requires a shipped model, which determines the shape of an item")
    if parameters.page_cache == COLD and not parameters.data.imagefolder:
        raise ValueError("page_cache: cold requires data: {imagefolder: ...}; an npz file is read into memory first")
