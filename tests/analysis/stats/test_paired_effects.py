"""Ratios over pairs of cases that are equal in all else."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.stats.factor_levels import Factor, factor_of
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.stats.paired_effects import effects, interval_of_ratios, largest_contrast
from hpcbench.analysis.stats.two_samples import ratio_of_medians


def costs_of(values: list[Floats]) -> Floats:
    medians = np.array([np.median(each) for each in values])
    return np.log(np.where(medians > 0, medians, np.nan))


def threads(*values: int) -> Factor:
    return factor_of("intra_op_threads", pd.Series(values))


def test_the_effect_is_the_median_ratio_of_pairs_and_not_the_ratio_of_medians() -> None:
    """Three pairs: 2, 4 and 1.5 times as fast. The medians of both sides would say 8 / 3."""
    values = [np.array([time]) for time in (2.0, 8, 30, 1, 2, 20)]
    found = effects(costs_of(values), values, np.array([0, 1, 2, 0, 1, 2]), threads(1, 1, 1, 2, 2, 2))
    assert len(found) == 1
    assert (found[0].better, found[0].worse, found[0].pairs) == (2, 1, 3)
    assert found[0].ratio.estimate == pytest.approx(2)


def test_where_more_is_slower_less_is_said_to_be_faster() -> None:
    values = [np.array([time]) for time in (1.0, 1, 1, 2, 4, 3)]
    effect = effects(costs_of(values), values, np.array([0, 1, 2, 0, 1, 2]), threads(1, 1, 1, 2, 2, 2))[0]
    assert (effect.better, effect.worse) == (1, 2)
    assert effect.ratio.estimate == pytest.approx(3)
    assert effect.ratio.low is not None
    assert effect.ratio.high is not None
    assert effect.ratio.low < 3 < effect.ratio.high


def test_the_interval_of_twelve_pairs_is_from_the_third_to_the_tenth() -> None:
    """Conover (1999), table A3: the binomial distribution of 12 with 1/2; 2 and fewer have a chance of 0.0193."""
    logs = np.log(np.random.default_rng(1).permutation(np.arange(1.0, 13)))
    assert interval_of_ratios(logs) == pytest.approx((math.sqrt(6 * 7), 3, 10))
    assert interval_of_ratios(logs[:6])[1:] == pytest.approx((np.exp(logs[:6].min()), np.exp(logs[:6].max())))


def test_the_interval_of_a_single_pair_is_that_of_its_repetitions() -> None:
    values = [np.array([2.0, 2.1, 2.2]), np.array([1.0, 1.1, 1.05])]
    effect = effects(costs_of(values), values, np.array([0, 0]), threads(1, 2))[0]
    assert effect.ratio == ratio_of_medians(values[1], values[0])[:3]
    assert effect.is_significant
    alone = [each[:1] for each in values]
    effect = effects(costs_of(alone), alone, np.array([0, 0]), threads(1, 2))[0]
    assert effect.ratio == (2, None, None)
    assert not effect.is_significant


def test_what_has_no_partner_or_no_time_is_in_no_pair() -> None:
    values = [np.array([time]) for time in (2.0, 1, 8, 0, 5)]
    found = effects(costs_of(values), values, np.array([0, 0, 1, 1, 2]), threads(1, 2, 1, 2, 1))
    assert [(effect.pairs, effect.ratio.estimate) for effect in found] == [(1, pytest.approx(2))]


def test_the_largest_contrast_is_where_a_value_helps_most_and_least() -> None:
    """More threads: 1.8 times as fast at 64, 1.2 times at 8, 0.9 times at 1."""
    times = {(1, 64): 18.0, (2, 64): 10, (1, 8): 6, (2, 8): 5, (1, 1): 0.9, (2, 1): 1}
    values = [np.array([time]) for time in times.values()]
    batch = factor_of("batch_size", pd.Series([size for _, size in times]))
    factor = threads(*(number for number, _ in times))
    found = largest_contrast(costs_of(values), batch.codes, factor, batch)
    assert found is not None
    assert (found.since, found.to, found.given, found.other_given) == (1, 2, 64, 1)
    assert (found.gain, found.other_gain) == pytest.approx((1.8, 0.9))


def test_a_contrast_needs_two_values_beside_which_pairs_stand() -> None:
    values = [np.array([time]) for time in (2.0, 1, 3)]
    batch = factor_of("batch_size", pd.Series([1, 1, 8]))
    assert largest_contrast(costs_of(values), batch.codes, threads(1, 2, 1), batch) is None


def test_the_median_of_two_ratios_is_the_same_in_either_direction() -> None:
    logs = np.log([4.0, 64.0])
    assert interval_of_ratios(logs).estimate == pytest.approx(16.0)
    assert interval_of_ratios(-logs).estimate == pytest.approx(1 / 16)
