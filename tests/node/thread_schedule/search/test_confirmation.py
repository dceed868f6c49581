"""The proof of a schedule: times that are told to it, and numbers of Conover's."""

import math

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed; not run: the proof of a schedule")

from hpcbench.node.thread_schedule.search.confirmation import confirm, median_interval

pytestmark = pytest.mark.torch


def test_the_same_twice_is_no_gain() -> None:
    times = iter([1.0, 1.1, 0.9] * 100)
    proof = confirm(lambda steps: next(times), lambda steps: next(times), 0.02)
    assert not proof.certain
    assert proof.gain.low <= 1 <= proof.gain.high


def test_a_tenth_less_time_is_a_certain_gain() -> None:
    proof = confirm(lambda steps: 1.0, lambda steps: 0.9, 0.02)
    assert proof.certain
    assert proof.gain.middle == pytest.approx(1 / 0.9)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [(6, 1, 6), (10, 2, 9), (16, 4, 13), (20, 6, 15), (30, 10, 21), (60, 22, 39)],
)
def test_the_interval_lies_at_the_ranks_of_the_binomial_distribution(count: int, low: int, high: int) -> None:
    """Conover's table A3 for p = 1/2, as far as it goes: the largest y with P(Y <= y) <= 0.025 is the rank less one."""
    assert median_interval(range(1, count + 1)) == ((count + 1) / 2, low, high)


def test_too_few_values_have_no_interval() -> None:
    assert median_interval([1, 2, 3, 4, 5])[1:] == (-math.inf, math.inf)


@pytest.mark.parametrize("count", range(10, 61))
def test_the_interval_holds_the_median_in_95_of_100_cases_and_a_narrower_one_does_not(count: int) -> None:
    def covered(rank: int) -> float:
        return sum(math.comb(count, below) for below in range(rank, count - rank + 1)) / 2**count

    rank = int(median_interval(range(1, count + 1)).low)
    assert covered(rank) >= 0.95 > covered(rank + 1)
