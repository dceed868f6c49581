"""Timing on a clock that only moves when a step is taken, so that every number can be foretold."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.sampling import Samples, Settings, measure

WARMUP_NONE = Settings(warmup_s=0.0, min_time_s=0.0, min_samples=1)


class Machine:
    """A workload and its clock: each step takes the next of `durations`, the last one for ever after."""

    def __init__(self, durations: Iterable[float], synchronize_s: float = 0.0) -> None:
        self.durations = list(durations)
        self.synchronize_s = synchronize_s
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

    def clock(self) -> float:
        assert self.synchronized, "the clock was read before the device was done"
        return self.now

    def measure(self, settings: Settings) -> Samples:
        return measure(self.step, self.synchronize, settings, clock=self.clock)


@pytest.mark.parametrize("step_s", [0.25, 0.125])
@pytest.mark.parametrize("min_time_s", [1.0, 2.0])
def test_samples_are_taken_until_the_minimum_time(step_s: float, min_time_s: float) -> None:
    samples = Machine([step_s]).measure(Settings(0.0, min_time_s, min_samples=1))
    assert samples.times_s == [step_s] * int(min_time_s / step_s)


def test_at_least_the_minimum_number_of_samples_is_taken_however_long_it_lasts() -> None:
    samples = Machine([8.0]).measure(Settings(0.0, min_time_s=1.0, min_samples=5))
    assert samples.times_s == [8.0] * 5


def test_warm_up_lasts_its_time_and_is_not_among_the_samples() -> None:
    machine = Machine([1.0] * 5 + [0.5])
    samples = machine.measure(Settings(warmup_s=4.0, min_time_s=2.0, min_samples=1))
    assert samples.warmup_s >= 4.0
    assert samples.times_s == [0.5] * 4
    assert samples.warmup_steps + len(samples.times_s) == machine.steps


def test_without_a_warm_up_the_samples_still_begin_after_the_first_step() -> None:
    samples = Machine([9.0, 0.5]).measure(Settings(0.0, 1.0, 1))
    assert max(samples.times_s) == 0.5


def test_the_first_step_is_kept_apart_from_warm_up_and_samples() -> None:
    samples = Machine([7.0, 0.25]).measure(Settings(warmup_s=0.5, min_time_s=1.0, min_samples=1))
    assert samples.first_step_s == 7.0
    assert samples.times_s == [0.25] * 4


def test_the_first_step_does_not_use_up_the_warm_up() -> None:
    """It may have compiled for longer than the warm-up was to last."""
    samples = Machine([60.0, 0.5]).measure(Settings(warmup_s=1.0, min_time_s=1.0, min_samples=1))
    assert samples.warmup_s >= 61.0


def test_a_sample_includes_the_wait_for_the_device() -> None:
    samples = Machine([0.25], synchronize_s=0.5).measure(Settings(0.0, 1.5, 1))
    assert samples.times_s == [0.75, 0.75]


@pytest.mark.parametrize("step_s", [1e-4, 1e-5, 3e-7])
def test_steps_shorter_than_a_millisecond_are_timed_in_blocks_of_one(step_s: float) -> None:
    samples = Machine([step_s]).measure(Settings(0.0, 0.1, 1))
    block_s = samples.times_s[0] * samples.steps_per_sample
    assert 1e-3 * (1 - 1e-6) <= block_s <= 1e-3 + 1.001 * step_s
    assert samples.times_s == pytest.approx([step_s] * len(samples.times_s))


def test_a_slow_first_step_does_not_make_the_blocks_too_short() -> None:
    samples = Machine([2.0, 1e-4]).measure(Settings(0.0, 0.1, 1))
    assert samples.steps_per_sample == pytest.approx(10, abs=1)


@pytest.mark.parametrize("step_s", [1e-3, 0.5, 100.0])
def test_steps_of_a_millisecond_or_more_are_timed_one_by_one(step_s: float) -> None:
    assert Machine([step_s]).measure(WARMUP_NONE).steps_per_sample == 1


def test_a_clock_that_does_not_move_ends_all_the_same() -> None:
    machine = Machine([0.0])
    samples = machine.measure(Settings(0.0, 0.0, min_samples=3))
    assert samples.times_s == [0.0] * 3


@given(
    durations=st.lists(st.floats(1e-3, 2.0), min_size=1, max_size=8),
    warmup_s=st.floats(0, 3),
    min_time_s=st.floats(0.01, 3),
    min_samples=st.integers(1, 20),
)
def test_sampling_stops_as_soon_as_both_limits_are_met(
    durations: list[float], warmup_s: float, min_time_s: float, min_samples: int
) -> None:
    machine = Machine(durations)
    samples = machine.measure(Settings(warmup_s, min_time_s, min_samples))
    blocks = [time_s * samples.steps_per_sample for time_s in samples.times_s]
    assert len(blocks) >= min_samples
    assert sum(blocks) >= min_time_s - 1e-6
    assert len(blocks) == min_samples or sum(blocks[:-1]) < min_time_s + 1e-6
    assert samples.warmup_s >= warmup_s - 1e-6
    assert samples.warmup_steps + len(blocks) * samples.steps_per_sample == machine.steps


class Group:
    """Ranks in threads that agree through a barrier, as a broadcast from rank 0 does."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=10)
        self.value = 0.0

    def agree(self, rank: int) -> Callable[[float], float]:
        def agree(value: float) -> float:
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
            size = len(machines)
            agree = self.agree(rank)
            results[rank] = measure(machine.step, machine.synchronize, settings, agree, size, machine.clock)

        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(machines)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        return [results[rank] for rank in range(len(machines))]


@pytest.mark.parametrize(("first_s", "second_s"), [(0.25, 1.0), (1.0, 0.25), (1e-5, 1e-2), (1e-2, 1e-5)])
@pytest.mark.parametrize("settings", [Settings(1.0, 2.0, 3), Settings(0.0, 0.5, 50)])
def test_ranks_of_unequal_speed_take_the_same_number_of_steps(
    first_s: float, second_s: float, settings: Settings
) -> None:
    machines = [Machine([3.0, first_s]), Machine([0.5, second_s])]
    first, second = Group(2).measure(machines, settings)
    assert machines[0].steps == machines[1].steps
    assert len(first.times_s) == len(second.times_s)
    assert first.steps_per_sample == second.steps_per_sample
    assert first.warmup_steps == second.warmup_steps


def test_rank_0_decides_for_all_ranks_when_to_stop() -> None:
    machines = [Machine([1.0]), Machine([0.001])]
    first, second = Group(2).measure(machines, Settings(0.0, min_time_s=4.0, min_samples=1))
    assert first.times_s == [1.0] * 4
    assert second.times_s == pytest.approx([0.001] * 4)


def test_ranks_do_not_agree_after_every_short_step() -> None:
    """Each agreement is a broadcast; between two of them lies a good part of a second of steps."""
    agreements = []

    def agree(value: float) -> float:
        agreements.append(value)
        return value

    machine = Machine([0.001])
    samples = measure(machine.step, machine.synchronize, Settings(0.0, 2.0, 1), agree, 2, machine.clock)
    assert sum(samples.times_s) >= 2.0
    assert len(agreements) < 50


def test_samples_become_plain_data_for_the_record() -> None:
    record = Machine([0.5]).measure(Settings(0.0, 1.0, 1)).as_record()
    assert record == {
        "times_s": [0.5, 0.5],
        "steps_per_sample": 1,
        "warmup_steps": 2,
        "warmup_s": 0.5,
        "first_step_s": 0.5,
    }
