from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.core.record import Record


@pytest.fixture
def profiled(make_record: Callable[..., Record]) -> Callable[..., Record]:
    """A record of a local run with a profile, in the sweep that is called so; a run by number, from 1."""

    def make(run: int = 1, power: Any = "auto", **changes: Any) -> Record:
        record = make_record(repetition=run, sweep="sweep-1", **changes)
        return replace(record, measure={"profile": {"power": power}})

    return make
