"""The power windows: what runs before and in them, and which operators have one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hpcbench.core.profiling.operator_row import OperatorRow

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of power windows")

from hpcbench.node.frameworks.pytorch.profiler import power_windows  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.replay import Round  # noqa: E402

CALL_S = 0.03


class FakeTime:
    """A monotonic clock that only calls and sleeps advance."""

    def __init__(self) -> None:
        self.now_s, self.calls, self.synchronized = 0.0, 0, 0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, length_s: float) -> None:
        self.now_s += length_s

    def call(self) -> None:
        self.now_s += CALL_S
        self.calls += 1

    def synchronize(self) -> None:
        self.synchronized = self.calls


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    found = FakeTime()
    monkeypatch.setattr(power_windows, "time", SimpleNamespace(monotonic=found.monotonic, sleep=found.sleep))
    return found


def test_a_block_of_calls_runs_before_the_window_by_a_fake_clock(fake: FakeTime) -> None:
    window = power_windows.run(Round([fake.call], 1), CALL_S, fake.synchronize, length_s=0.5)
    assert window.window_start_s == pytest.approx(3 * CALL_S), "0.1 s are three calls"
    assert window.window_calls == fake.calls - 3 == 18
    assert window.window_end_s - window.window_start_s == pytest.approx(18 * CALL_S)
    assert fake.synchronized == fake.calls


def test_the_block_before_the_window_has_a_call_that_is_longer_by_a_fake_clock(fake: FakeTime) -> None:
    window = power_windows.run(Round([fake.call], 1), 20.0, fake.synchronize, length_s=CALL_S / 2)
    assert (window.window_start_s, window.window_calls, fake.calls) == (CALL_S, 1, 2)


def test_the_idle_window_starts_when_sensors_have_settled_by_a_fake_clock(fake: FakeTime) -> None:
    fake.call()
    window = power_windows.idle(2.0)
    assert window == (CALL_S + power_windows.SETTLE_S, CALL_S + power_windows.SETTLE_S + 2.0, 0)
    assert power_windows.SETTLE_S >= 1.0, "NVML averages the power over one second"


def a_row(flops: int, moved: int, hot_s: float | None = 1.0) -> OperatorRow:
    return OperatorRow("gemm", "aten.mm.default", "forward", "{}", flops=flops, bytes_moved=moved, hot_s=hot_s)


def test_power_windows_span_the_utilisation() -> None:
    compute, memory, both, none = a_row(100, 0), a_row(0, 100), a_row(100, 100), a_row(0, 0)
    like_compute = a_row(99, 1, hot_s=1.01)
    found = power_windows.chosen([compute, like_compute, memory, a_row(50, 50, hot_s=None), both, none], 4)
    assert set(found) == {1, 2, 4, 5}  # 1 has the longest time; 0 uses the device in the same way
    assert found[0] == 1
    assert power_windows.chosen([compute], 5) == [0]
