"""The times of an operator, by timers. The GPU is a fake of `torch.cuda`: no GPU is here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="PyTorch is not installed; not run: all tests of the operator profiler")

from hpcbench.node.frameworks.pytorch.profiler import replay, timers, timing  # noqa: E402 - they need torch
from hpcbench.node.frameworks.pytorch.profiler.in_stream import StreamTime  # noqa: E402
from hpcbench.node.frameworks.pytorch.profiler.listing import Key  # noqa: E402
from hpcbench.node.measurement.stopping_rules import Settings  # noqa: E402

SETTINGS = Settings(precision=0.01, min_measurements=7, min_time_s=0.0, max_time_s=0.01, max_warmup_s=0.0)


class FixedTimer(timers.Timer):
    """A timer on which each round takes longer than the one before, and that keeps the rounds."""

    cache_bytes, most_copies = 2**20, 4096

    def __init__(self) -> None:
        self.rounds: list[replay.Round] = []

    def times_s(self, calls: replay.Round, settings: Settings) -> list[float]:
        self.rounds.append(calls)
        return [1e-3 * len(self.rounds)] * 7

    def host_s(self, calls: replay.Round) -> float | None:
        return None

    def synchronize(self) -> None: ...


def product(inputs: int, weights: int) -> replay.Captured:
    arguments = (torch.ones(1, inputs), torch.ones(inputs, weights))
    key = Key("aten.mm.default", "forward", "{}")
    return replay.Captured(key, torch.ops.aten.mm.default, (arguments, {}), [False, True])


def measured(operator: replay.Captured, step_bytes: int, precision: float = 1e-9) -> tuple[list[int], dict[str, Any]]:
    """The numbers of copies in the rounds that were measured, and the fields of the row."""
    timer = FixedTimer()
    found = timing.times(operator, timer, timing.Pace(SETTINGS._replace(precision=precision), step_bytes))
    return [calls.size for calls in timer.rounds[1:]], found  # without the first, quick look


def test_copies_fill_twice_the_cache_and_the_stream_uses_what_a_step_uses() -> None:
    operator = product(256, 256)  # 256 KiB of weights, 257 KiB of all
    assert measured(operator, 2**30)[0] == [1, 8, 8]
    assert measured(operator, 3 * 2**18)[0] == [1, 8, 3]
    rounds, found = measured(operator, 2**18)
    assert (rounds, found["stream_s"]) == ([1, 8], found["hot_s"])  # the weights stay in the cache between two steps


def test_operators_larger_than_the_caches_have_one_time() -> None:
    rounds, found = measured(product(1024, 1024), 2**30)
    assert rounds == [1]
    assert found["hot_s"] == found["cold_s"] == found["stream_s"]
    assert (found["hot_low_s"], found["hot_high_s"], found["measurements"]) == (found["hot_s"], found["hot_s"], 7)


def test_operators_so_slow_that_memory_makes_no_difference_have_one_time() -> None:
    assert measured(product(256, 256), 2**30, precision=0.5)[0] == [1]


def test_tiny_operators_have_no_cold_time() -> None:
    rounds, found = measured(product(4, 4), 0)
    assert (rounds, "cold_s" in found, found["stream_s"]) == ([1], False, found["hot_s"])


def test_times_are_those_of_one_call() -> None:
    timer = timers.CpuTimer()

    def call() -> None:
        sum(range(2000))

    settings = SETTINGS._replace(max_time_s=0.1)
    one, ten = (min(timer.times_s(replay.Round([call] * count, count), settings)) for count in (1, 10))
    assert 0.2 < one / ten < 5


def test_the_pace_shares_the_time_among_the_operators() -> None:
    few, many = (timing.pace(SETTINGS._replace(max_time_s=10), count, 0).settings.max_time_s for count in (6, 600))
    assert few == pytest.approx(0.1)
    assert 3 * 600 * many <= 4.1 * 10


class FakeEvent:
    """An event of a fake GPU of 1 GHz, on which each call takes 2 us."""

    def __init__(self, gpu: dict[str, int], **_: Any) -> None:
        self.gpu, self.time_us = gpu, 0.0

    def record(self) -> None:
        self.time_us = 2.0 * self.gpu["calls"] + 1e-3 * self.gpu["cycles"]

    def synchronize(self) -> None: ...

    def elapsed_time(self, end: FakeEvent) -> float:
        return 1e-3 * (end.time_us - self.time_us)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    state = {"calls": 0, "cycles": 0, "slept": 0}

    def sleep(cycles: int) -> None:
        state["slept"] = cycles
        state["cycles"] += cycles

    properties = type("Properties", (), {"L2_cache_size": 50 * 2**20})  # without clock_rate, as in older versions
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "Event", lambda **options: FakeEvent(state, **options))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "_sleep", sleep)
    return state


@pytest.fixture
def call(gpu: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A call on the fake GPU. A fake clock of the host takes 10 us between two readings."""
    ticks = itertools.count()
    monkeypatch.setattr(timers.time, "monotonic", lambda: next(ticks) * 10e-6)

    def called() -> None:
        gpu["calls"] += 1

    return called


def test_a_fake_gpu_is_timed_by_its_events(gpu: dict[str, int], call: Callable[[], None]) -> None:
    timer = timers.CudaTimer(None)
    calls = replay.Round([call] * 4, 4)
    found = timer.times_s(calls, SETTINGS)
    assert found == pytest.approx([2e-6] * len(found))
    assert len(found) >= SETTINGS.min_measurements
    assert gpu["slept"] == pytest.approx(3 * 125 * 10e-6 * 1e9)  # cycles, until the queue has its 125 rounds
    assert timer.host_s(calls) == pytest.approx(10e-6 / 4)
    assert timer.cache_bytes == 50 * 2**20


def test_rounds_on_a_fake_gpu_fit_into_its_queue(gpu: dict[str, int], call: Callable[[], None]) -> None:
    """Also those of an operator that changes its arguments, with a call to restore each copy."""
    timer = timers.CudaTimer(None)
    kept = list[replay.Round]()

    def times_s(calls: replay.Round, settings: Settings) -> list[float]:
        kept.append(calls)
        return [2e-6] * 7

    timer.times_s = times_s
    arguments = (torch.ones(64), torch.ones(64))
    for name, copies in (("add_", 250), ("add", 250)):
        operator = replay.Captured(
            Key(name, "forward", "{}"), getattr(torch.ops.aten, name).Tensor, (arguments, {}), [True, True]
        )
        pace = timing.Pace(SETTINGS._replace(precision=1e-9), 2**30)
        found = timing.times(operator, timer, pace)
        assert "cold_s" not in found  # the caches hold all copies
        assert kept[-1].size == copies
        assert len(kept[-1].calls) <= 500


def test_the_time_limit_on_a_fake_gpu_includes_the_sleep_and_launches(
    gpu: dict[str, int], call: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    timer, ticks = timers.CudaTimer(None), itertools.count()
    monkeypatch.setattr(timers.time, "monotonic", lambda: next(ticks) * 1e-3)  # a round is launched in 1 ms
    settings = SETTINGS._replace(precision=-1.0, max_time_s=20e-3)  # only the time limit ends it
    found = timer.times_s(replay.Round([call], 1), settings)
    assert len(found) == 15  # 20, if only the 1 ms of the device in each counted
    short = timer.times_s(replay.Round([call], 1), settings._replace(max_time_s=1e-9))
    assert len(short) == 6  # enough for a CI
    assert len(timer.times_s(replay.Round([call], 1), settings._replace(max_time_s=1e-9, min_measurements=1))) == 1


def test_an_unknown_cache_of_a_fake_gpu_counts_as_the_largest(
    gpu: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: object())
    assert timers.CudaTimer(None).cache_bytes == 128 * 2**20


def test_a_step_calls_the_whole_round() -> None:
    seen: list[int] = []
    timers.step_of(replay.Round([lambda: seen.append(1), lambda: seen.append(2)], 2))()
    assert seen == [1, 2]


def test_the_time_in_real_steps_is_the_time_in_the_stream() -> None:
    timer, in_steps = FixedTimer(), StreamTime(0.5, 0.4, 0.6)
    pace = timing.Pace(SETTINGS._replace(precision=1e-9), 2**30)
    found = timing.times(product(256, 256), timer, pace, in_steps)
    assert [calls.size for calls in timer.rounds[1:]] == [1, 8]  # hot and cold only
    assert (found["stream_s"], found["stream_low_s"], found["stream_high_s"]) == (0.5, 0.4, 0.6)
