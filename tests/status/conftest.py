"""A submitted sweep in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from tests.status.queued_sweep import QueuedSweep


@pytest.fixture
def queued_sweep(make_planned: Callable[..., PlannedRun], make_record: Callable[..., dict[str, Any]]) -> QueuedSweep:
    made = QueuedSweep(lambda case: make_planned(case)._replace(measure={"retries": 1}), make_record)
    made.submit()
    return made
