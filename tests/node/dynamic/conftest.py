"""What the tests of threads by section share."""

from __future__ import annotations

import time
from typing import Any

import pytest


class SleptTime:
    """In the place of the module `time`: nothing passes but what is slept, and a microsecond with each look. So a busy
    machine cannot be seen. What CPUs compute is as it is."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def perf_counter(self) -> float:
        self.now_s += 1e-6
        return self.now_s

    monotonic = perf_counter

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.fixture
def slept_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search, and the modules that sleep, take for the time."""
    from hpcbench.node.dynamic import arrangement, finding, sections, verification
    from tests.node.dynamic import sleeping

    clock = SleptTime()
    for module in (arrangement, finding, sections, verification, sleeping):
        monkeypatch.setattr(module, "time", clock)
