"""Timing on a timer that only moves when a step is taken, so that every number can be foretold."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.core.samples import Samples
from hpcbench.core.typed_json import to_json
from hpcbench.node.measurement.stopping_rules import MAX_SAMPLES, MAX_TIME, PRECISION, Settings
from hpcbench.node.measurement.timing import TimerError, measure


def asked(**changes: Any) -> Settings:
    """Ten measurements at least, one second at most, unless it is said otherwise."""
    return Settings(
        **{
            "precision": 0.01,
            "min_measurements": 10,
            "min_time_s": 0.0,
            "max_time_s": 1.0,
            "max_warmup_s": 1.0,
            **changes,
        }
    )


class Machine:
    """A workload and its timer: each step takes the next of `durations`, the last one for ever after. Reading the timer
    takes `timer_s`."""

    def __init__(self, durations: Iterable[float], synchronize_s: float = 0.0, timer_s: float = 0.0) -> None:
        self.durations = list(durations)
        self.synchronize_s = synchronize_s
        self.timer_s = timer_s
        self.now = 0.0
        self.steps = 0
        self.synchronized = True

    def step(self) -> None:
        self.now += self.durations[min(self.steps, len(self.durations) - 1)]
        self.steps += 1
        self.synchronized = False

    def synchronize(self) -> None:
        if not self.synchronized:
            self.now += self.synchronize_s
        self.synchronized = True

    def timer(self) -> float:
        assert self.synchronized, "the timer was read before the device was done"
        self.now += self.timer_s
        return self.now

    def measure(self, settings: Settings, period: int = 1) -> Samples:
        return measure(self.step, self.synchronize, settings, timer=self.timer, period=period)


@pytest.mark.parametrize("step_s", [0.25, 0.125])
@pytest.mark.parametrize("min_time_s", [8.0, 4.0])
def test_equal_samples_are_precise_and_stop_at_the_minimum_time(step_s: float, min_time_s: float) -> None:
    samples = Machine([step_s]).measure(asked(min_time_s=min_time_s, max_time_s=99.0))
    assert samples.times_s == [step_s] * int(min_time_s / step_s)
    assert samples.stopped == PRECISION


@pytest.mark.parametrize("step_s", [1.0, 1e-5])
def test_each_measurement_contains_the_work_of_one_of_several_steps(step_s: float) -> None:
    """The timer takes 1e-7 s, so that short steps are timed in blocks."""
    machine = Machine([step_s, step_s, step_s, 5 * step_s] * 50_000, timer_s=1e-7)
    samples = machine.measure(asked(max_time_s=99 * step_s, max_warmup_s=9 * step_s), period=4)
    assert samples.steps_per_measurement
    assert samples.steps_per_measurement % 4 == 0
    assert samples.times_s == pytest.approx([2 * step_s] * len(samples.times_s), rel=0.01)


def test_a_period_that_takes_longer_than_the_time_limit_is_not_waited_for() -> None:
    samples = Machine([1.0]).measure(asked(max_time_s=10.0), period=100)
    assert (samples.steps_per_measurement, samples.times_s) == (1, [1.0] * 10)


def test_the_minimum_number_of_samples_is_taken_where_there_is_time() -> None:
    samples = Machine([2.0]).measure(asked(min_measurements=17, max_time_s=99.0))
    assert samples.times_s == [2.0] * 17


def test_the_time_limit_wins_over_the_minimum_number_of_samples() -> None:
    samples = Machine([2.0]).measure(asked(min_measurements=10, max_time_s=7.0))
    assert samples.times_s == [2.0] * 4
    assert samples.stopped == MAX_TIME


def test_of_a_step_of_ten_minutes_one_sample_is_taken() -> None:
    machine = Machine([600.0])
    assert machine.measure(asked(max_warmup_s=10.0)).times_s == [600.0]
    assert machine.steps == 3  # the first, one to know how long a step takes, and the sample


def test_noisy_samples_are_taken_until_the_median_is_known_well_enough() -> None:
    noise = random.Random(1)
    machine = Machine(0.01 * noise.lognormvariate(0, 0.05) for _ in range(20_000))
    wide = machine.measure(asked(precision=0.02, max_time_s=99.0))
    narrow = machine.measure(asked(precision=0.01, max_time_s=99.0))
    assert wide.stopped == narrow.stopped == PRECISION
    assert 2 < len(narrow.times_s) / len(wide.times_s) < 8  # half as wide wants four times as many


def test_the_warm_up_ends_when_steps_are_steady_and_its_times_are_no_samples() -> None:
    slow = [2.0 / (1 + step) for step in range(15)]
    machine = Machine([*slow, *[0.125] * 200])
    samples = machine.measure(asked(max_warmup_s=99.0))
    assert samples.steady
    assert len(slow) <= samples.warmup_steps < 80
    assert max(samples.times_s) == 0.125
    assert samples.warmup_steps + len(samples.times_s) == machine.steps


def test_a_warm_up_that_never_settles_ends_at_its_limit_and_says_so() -> None:
    samples = Machine([0.01 * 1.005**step for step in range(3000)]).measure(asked(max_warmup_s=3.0))
    assert not samples.steady
    assert 3.0 <= samples.warmup_s < 4.0
    assert samples.drift > 0.02


def test_a_drift_too_slow_for_the_warm_up_is_told_afterwards() -> None:
    samples = Machine([0.01 * 1.0001**step for step in range(3000)]).measure(asked(min_time_s=5.0, max_time_s=5.0))
    assert samples.steady
    assert samples.drift == pytest.approx(1.0001 ** len(samples.times_s) - 1, rel=0.1)


def test_without_a_warm_up_the_samples_still_begin_after_the_first_step() -> None:
    samples = Machine([9.0, 0.5]).measure(asked(max_warmup_s=0.0))
    assert max(samples.times_s) == 0.5
    assert samples.first_step_s == 9.0
    assert samples.warmup_steps == 2


def test_the_first_step_does_not_use_up_the_warm_up() -> None:
    """It may have compiled for longer than the warm-up may last."""
    samples = Machine([60.0, 4.0, 2.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5]).measure(asked(max_warmup_s=9.0))
    assert 68.0 <= samples.warmup_s <= 69.5
    assert samples.steady
    assert set(samples.times_s) == {0.5}


def test_a_sample_includes_the_wait_for_the_device() -> None:
    samples = Machine([0.25], synchronize_s=0.5).measure(asked())
    assert set(samples.times_s) == {0.75}


@pytest.mark.parametrize("step_s", [1e-4, 3e-7])
def test_steps_too_short_for_the_timer_are_timed_in_blocks(step_s: float) -> None:
    """Reading the timer is to take no more than a thousandth of a measurement, with some to spare."""
    machine = Machine([step_s], timer_s=2e-6)
    samples = machine.measure(asked(max_time_s=0.1))
    assert samples.clock_cost_s == pytest.approx(2e-6)
    assert samples.times_s[0] * samples.steps_per_measurement == pytest.approx(3e-3, rel=0.02)
    assert samples.times_s == pytest.approx([step_s] * len(samples.times_s), rel=2e-3)


def test_a_real_step_that_does_nothing_is_timed_in_long_blocks() -> None:
    samples = measure(lambda: None, lambda: None, asked(max_warmup_s=0.1, max_time_s=0.1))
    assert samples.steps_per_measurement > 100
    assert 0 < min(samples.times_s) < 1e-5


def test_a_slow_first_step_does_not_make_the_blocks_too_short() -> None:
    samples = Machine([2.0, 1e-4], timer_s=1e-6).measure(asked(max_time_s=0.1))
    assert samples.steps_per_measurement == pytest.approx(15, abs=1)


@pytest.mark.parametrize("step_s", [1e-3, 0.5, 100.0])
def test_longer_steps_are_timed_one_by_one(step_s: float) -> None:
    assert Machine([step_s], timer_s=1e-7).measure(asked()).steps_per_measurement == 1


def test_a_timer_that_does_not_move_ends_all_the_same() -> None:
    samples = Machine([0.0]).measure(asked())
    assert set(samples.times_s) == {0.0}
    assert samples.stopped == MAX_SAMPLES


def test_a_timer_that_goes_backwards_is_an_error() -> None:
    with pytest.raises(TimerError, match=r"went back by 0\.5 s"):
        Machine([0.1] * 30 + [-0.5] + [0.1] * 30).measure(asked(max_time_s=99.0, min_measurements=50))


def test_each_window_tells_when_its_samples_were_taken() -> None:
    machine = Machine([0.125])
    samples = machine.measure(asked(max_time_s=3.0, min_time_s=3.0))
    assert [window.samples for window in samples.windows] == [4] * 6
    assert sum(window.samples for window in samples.windows) == len(samples.times_s)
    edges = [edge for window in samples.windows for edge in (window.start_s, window.end_s)]
    assert edges == sorted(edges)
    assert edges[-1] == machine.now
    assert edges[-1] - edges[0] == 3.0


def test_windows_stand_on_the_timer_that_the_monitor_reads() -> None:
    before = time.monotonic()
    samples = measure(lambda: time.sleep(0.001), lambda: None, asked(max_warmup_s=0.0, max_time_s=0.05))
    assert before < samples.windows[0].start_s < samples.windows[-1].end_s < time.monotonic()


@given(
    durations=st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=8),
    max_warmup_s=st.floats(0, 3),
    max_time_s=st.floats(0.01, 5),
    min_measurements=st.integers(1, 20),
)
def test_every_step_is_counted_once_and_the_limits_hold(
    durations: list[float], max_warmup_s: float, max_time_s: float, min_measurements: int
) -> None:
    machine = Machine(durations)
    samples = machine.measure(
        asked(max_warmup_s=max_warmup_s, max_time_s=max_time_s, min_measurements=min_measurements)
    )
    blocks = [time_s * samples.steps_per_measurement for time_s in samples.times_s]
    assert samples.warmup_steps + len(blocks) * samples.steps_per_measurement == machine.steps
    assert len(blocks) >= min_measurements or sum(blocks) >= max_time_s - 1e-6
    assert samples.windows[-1].start_s - samples.windows[0].start_s < max_time_s


class Group:
    """Ranks in threads that agree through a barrier, as a broadcast from rank 0 does."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=10)
        self.value: Any = None

    def agree(self, rank: int) -> Callable[[Any], Any]:
        def agree(value: Any) -> Any:
            if rank == 0:
                self.value = value
            self.barrier.wait()
            agreed = self.value
            self.barrier.wait()
            return agreed

        return agree

    def measure(self, machines: list[Machine], settings: Settings) -> list[Samples]:
        results: dict[int, Samples] = {}

        def work(rank: int, machine: Machine) -> None:
            results[rank] = measure(machine.step, machine.synchronize, settings, self.agree(rank), machine.timer)

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(machines)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        return [results[rank] for rank in range(len(machines))]


@pytest.mark.parametrize(("first_s", "second_s"), [(0.25, 1.0), (1.0, 0.25), (1e-5, 1e-2), (1e-2, 1e-5)])
@pytest.mark.parametrize("settings", [asked(max_time_s=2.0), asked(max_warmup_s=0.0, min_measurements=50)])
def test_ranks_of_unequal_speed_take_the_same_number_of_steps(
    first_s: float, second_s: float, settings: Settings
) -> None:
    machines = [Machine([3.0, first_s], timer_s=1e-7), Machine([0.5, second_s], timer_s=1e-6)]
    first, second = Group(2).measure(machines, settings)
    assert machines[0].steps == machines[1].steps
    assert len(first.times_s) == len(second.times_s)
    assert first.steps_per_measurement == second.steps_per_measurement
    assert first.warmup_steps == second.warmup_steps
    assert first.stopped == second.stopped
    assert [window.samples for window in first.windows] == [window.samples for window in second.windows]


def test_rank_0_decides_for_all_ranks_when_to_stop() -> None:
    machines = [Machine([1.0]), Machine([0.001])]
    first, second = Group(2).measure(machines, asked(max_time_s=4.0, min_measurements=99))
    assert first.times_s == [1.0] * 4
    assert second.times_s == pytest.approx([0.001] * 4)


def test_ranks_do_not_agree_after_every_short_step() -> None:
    """Each agreement is a broadcast; between two of them lies a good part of a second of steps."""
    agreements = []

    def agree(value: Any) -> Any:
        agreements.append(value)
        return value

    machine = Machine([0.001])
    samples = measure(machine.step, machine.synchronize, asked(min_time_s=2.0, max_time_s=2.0), agree, machine.timer)
    assert sum(samples.times_s) >= 2.0
    assert len(agreements) < 12


def test_samples_become_plain_data_for_the_record() -> None:
    record = to_json(Machine([0.5]).measure(asked(max_warmup_s=0.0)))
    assert record == {
        "times_s": [0.5, 0.5],
        "windows": [[1.0, 1.5, 1], [1.5, 2.0, 1]],
        "steps_per_measurement": 1,
        "stopped": MAX_TIME,
        "clock_cost_s": 0.0,
        "first_step_s": 0.5,
        "warmup_steps": 2,
        "warmup_s": 1.0,
        "steady": False,
        "drift": 0.0,
    }
