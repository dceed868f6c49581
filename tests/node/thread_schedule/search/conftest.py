"""What the tests of per-layer threads share."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest


class SleptTime:
    """In the place of the module `time`: nothing passes but what is slept, and a microsecond with each look. So a busy
    machine cannot be seen. What CPUs compute is as it is.

    Threads sleep side by side: each begins when the one that made the clock began to wait for them, and the clock is
    looked at by that one alone.
    """

    def __init__(self) -> None:
        self.owner = threading.get_ident()
        self.now_s = {self.owner: 0.0}  # of each thread

    def sleep(self, seconds: float) -> None:
        thread = threading.get_ident()
        begun_s = self._all_have_slept() if thread == self.owner else max(self.now_s.get(thread, 0.0), self._owners_s)
        self.now_s[thread] = begun_s + seconds

    def perf_counter(self) -> float:
        self.now_s[self.owner] = self._all_have_slept() + 1e-6
        return self._owners_s

    def _all_have_slept(self) -> float:
        return max(self.now_s.values())

    @property
    def _owners_s(self) -> float:
        return self.now_s[self.owner]

    monotonic = perf_counter

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.fixture
def slept_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search, and the modules that sleep, take for the time."""
    from hpcbench.node.thread_schedule.search import finder, parallel_branches, sections, session, thread_activity
    from tests.node.thread_schedule.search import sleeping

    clock = SleptTime()
    for module in (session, parallel_branches, finder, sections, thread_activity, sleeping):
        monkeypatch.setattr(module, "time", clock)
