"""The rule of a verdict: its parts one by one, and how often it is wrong under noise of many kinds."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from benchmarks import noise
from hpcbench.analysis.stats.equivalence import (
    FASTER,
    SAME,
    SLOWER,
    UNDECIDED,
    Pair,
    Verdict,
    evaluate,
    false_discovery_adjusted,
)
from hpcbench.analysis.stats.rank_sum import rank_sum_p

Floats = NDArray[np.float64]
CLOSE = np.array([0.998, 0.999, 1.0, 1.001, 1.002])


def verdict(base: Floats, new: Floats, margin: float = 0.01, **settings: bool) -> Verdict:
    return evaluate([Pair(np.asarray(base), np.asarray(new), **settings)], margin)[0]


@pytest.mark.parametrize(("factor", "word"), [(1.03, SLOWER), (0.97, FASTER), (1.0, SAME), (1.002, SAME)])
def test_a_difference_counts_from_the_margin_on(factor: float, word: str) -> None:
    assert verdict(CLOSE, CLOSE * factor).word == word


@pytest.mark.parametrize(("factor", "word"), [(1.03, FASTER), (0.97, SLOWER)])
def test_where_more_is_better_less_is_slower(factor: float, word: str) -> None:
    assert verdict(CLOSE, CLOSE * factor, more_is_better=True).word == word


def test_a_sure_difference_within_the_margin_is_the_same() -> None:
    found = verdict(CLOSE, CLOSE * 1.02, margin=0.05)
    assert found.word == SAME
    assert found.p_value is not None
    assert found.p_value < 1e-5


def test_what_lies_on_both_sides_of_the_margin_cannot_be_told() -> None:
    found = verdict(CLOSE, CLOSE * 1.009)
    assert found.word == UNDECIDED
    assert found.runs_needed is not None
    assert 10 < found.runs_needed < 100
    said = f"the interval exceeds the margin; about {found.runs_needed} runs per side would suffice"
    assert found.reason == said


def test_noise_that_no_number_of_repetitions_overcomes_is_said_to_be_that() -> None:
    found = verdict(np.array([1.0, 1.4, 1.0, 1.4, 1.2]), np.array([1.4, 1.0, 1.01, 1.2, 1.41]))
    assert (found.word, found.runs_needed) == (UNDECIDED, None)
    assert found.reason is not None
    assert found.reason.endswith("more than 100 runs per side would be needed: measure on an idle machine")


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((3, 3), "3 runs per side are too few for a verdict"),
        ((3, 5), "3 and 5 runs are too few for a verdict"),
    ],
)
def test_too_few_repetitions_say_so_however_large_the_difference(counts: tuple[int, int], said: str) -> None:
    found = verdict(CLOSE[: counts[0]], 2 * CLOSE[: counts[1]])
    assert (found.word, found.runs_needed) == (UNDECIDED, 5)
    assert found.reason == f"{said}; about 5 runs per side would suffice"


@pytest.mark.parametrize(
    ("counts", "said"), [((1, 1), "1 run per side"), ((1, 5), "1 and 5 runs"), ((5, 1), "5 and 1 run")]
)
def test_a_single_repetition_says_nothing(counts: tuple[int, int], said: str) -> None:
    found = verdict(CLOSE[: counts[0]], 2 * CLOSE[: counts[1]])
    assert (found.word, found.ratio.low) == (UNDECIDED, None)
    assert found.reason is not None
    assert found.reason.startswith(said)


@pytest.mark.parametrize("counts", [(2, 20), (20, 2), (4, 9)])
def test_fewer_than_five_repetitions_of_a_side_are_too_few_beside_however_many(counts: tuple[int, int]) -> None:
    base, new = np.linspace(0.998, 1.002, counts[0]), np.linspace(1.998, 2.002, counts[1])
    assert rank_sum_p(base, new) < 0.01
    found = verdict(base, new)
    assert (found.word, found.runs_needed) == (UNDECIDED, 5)


def test_three_repetitions_that_agree_can_be_the_same() -> None:
    assert verdict(CLOSE[1:4], CLOSE[1:4] * 1.001, margin=0.02).word == SAME


def test_values_that_lie_many_orders_of_magnitude_apart_have_a_verdict_like_any_others() -> None:
    found = verdict(np.array([1e-60, 1.0]), np.ones(2))
    assert (found.word, found.ratio.low, found.ratio.high) == (UNDECIDED, 0.0, math.inf)
    assert verdict(1e-200 * CLOSE, 1e200 * CLOSE).word == SLOWER
    assert verdict(1e200 * CLOSE, 1e-200 * CLOSE).word == FASTER


def test_two_modes_that_fool_welchs_test_do_not_fool_the_ranks() -> None:
    base = np.array([1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 1.006, 1.41])
    new = np.array([0.999, 1.401, 1.402, 1.403, 1.404, 1.405, 1.406, 1.407])
    found = verdict(base, new)
    assert found.p_value is not None
    assert found.p_value < 0.01
    assert found.word == UNDECIDED
    assert found.reason is not None
    assert found.reason.startswith("runs of both sides overlap (rank-sum p = 0.083)")


def test_the_p_values_are_corrected_as_by_benjamini_and_hochberg() -> None:
    generator = np.random.default_rng(0)
    pairs = [Pair(*generator.normal(1, 0.01, (2, 5))) for _ in range(50)]
    alone = [evaluate([pair])[0].p_value for pair in pairs]
    assert [found.p_value for found in evaluate(pairs)] == pytest.approx(false_discovery_control(alone))


@given(st.lists(st.floats(0, 1), min_size=1))
def test_false_discovery_rates_are_those_of_scipy(p_values: list[float]) -> None:
    assert false_discovery_adjusted(p_values) == false_discovery_control(p_values).tolist()


def test_the_correction_is_that_of_benjamini_and_hochbergs_own_example() -> None:
    """Their 15 p-values, of which four are found at 5 % (1995, section 3.2).

    Of two sides of five that vary alike, Welch's degrees of freedom are 8, and the distance in standard errors is t.
    """
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p_values += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    logs = np.log(CLOSE)
    error = math.sqrt(2 * logs.var(ddof=1) / 5)
    pairs = [Pair(CLOSE, np.exp(logs + error * scipy.stats.t.isf(p_value / 2, 8))) for p_value in p_values]
    assert [evaluate([pair])[0].p_value for pair in pairs] == pytest.approx(p_values)
    corrected = [found.p_value for found in evaluate(pairs)]
    assert corrected[:4] == pytest.approx([15 * 0.0001, 15 * 0.0004 / 2, 15 * 0.0019 / 3, 15 * 0.0095 / 4])
    assert [p_value is not None and p_value <= 0.05 for p_value in corrected] == [True] * 4 + [False] * 11


def test_a_difference_that_is_sure_alone_may_not_be_sure_among_a_hundred() -> None:
    generator = np.random.default_rng(2)
    one = Pair(CLOSE, np.array([1.008, 1.012, 1.016, 1.02, 1.024]))
    others = [Pair(*generator.normal(1, 0.01, (2, 5))) for _ in range(99)]
    assert evaluate([one])[0].word == SLOWER
    among = evaluate([one, *others])[0]
    assert among.word == UNDECIDED
    assert among.reason is not None
    assert among.reason.startswith("not significant (corrected p = ")


def test_pairs_that_have_no_interval_do_not_count_among_the_comparisons() -> None:
    single = Pair(np.array([1.0]), np.array([2.0]))
    pair = Pair(CLOSE, CLOSE * 1.03)
    assert evaluate([single, pair, single])[1] == evaluate([pair])[0]
    assert evaluate([]) == []


sides = st.lists(st.floats(0.1, 10), min_size=1, max_size=8).map(np.array)


@given(sides, sides, st.floats(0, 0.5))
def test_a_verdict_keeps_to_its_rule(base: Floats, new: Floats, margin: float) -> None:
    found = verdict(base, new, margin)
    low, high = found.ratio.low, found.ratio.high
    inside = low is not None and high is not None and low >= 1 / (1 + margin) and high <= 1 + margin
    if found.word == SAME:
        assert inside or low == pytest.approx(1 / (1 + margin)) or high == pytest.approx(1 + margin)
    if found.word in (SLOWER, FASTER):
        assert min(base.size, new.size) >= 5
        assert base.max() < new.min() or base.min() > new.max() or base.size + new.size > 10
        assert (found.ratio.estimate > 1) == (found.word == SLOWER)
        assert abs(np.log(found.ratio.estimate)) > np.log1p(margin)
    assert (found.reason is not None) == (found.word == UNDECIDED)


def words(kind: noise.Noise, sizes: tuple[int, int], factor: float, trials: int) -> Counter[str]:
    """Of as many trials; of the smaller side, the first runs of a sweep as long as the other."""
    medians = np.median(kind(np.random.default_rng(1), trials, 2 * max(sizes)), axis=-1)
    sweeps = np.split(medians, 2, axis=1)
    return Counter(verdict(base[: sizes[0]], factor * new[: sizes[1]]).word for base, new in zip(*sweeps, strict=True))


KINDS = [
    noise.independent,
    noise.heavy_tails,
    noise.drift,
    noise.autocorrelated,
    noise.from_run_to_run,
    noise.loud,
    noise.two_modes_of_samples,
    noise.two_modes_that_last,
    noise.two_modes_of_processes,
    noise.one_process_in_ten,
    noise.recorded,
]


@pytest.mark.parametrize(("trials", "fewer_than"), [(60, 5), pytest.param(300, 10, marks=pytest.mark.soak)])
@pytest.mark.parametrize("sizes", [(5, 5), (5, 12), (8, 8)], ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_same_code_is_hardly_ever_slower_or_faster(
    kind: noise.Noise, sizes: tuple[int, int], trials: int, fewer_than: int
) -> None:
    """If 1 % were wrong, so many would be in 1 of 1,000 such tests or fewer. The figures: make bench-comparing."""
    found = words(kind, sizes, 1.0, trials)
    assert found[SLOWER] + found[FASTER] < fewer_than


@pytest.mark.parametrize("trials", [100, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", [noise.independent, noise.heavy_tails, noise.drift, noise.autocorrelated])
def test_a_slowdown_by_three_per_cent_is_found_in_noise_of_one(kind: noise.Noise, trials: int) -> None:
    assert words(kind, (5, 5), 1.03, trials)[SLOWER] > 0.95 * trials
