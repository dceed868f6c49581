"""What settings cost, from blocks of measurements: hand-computed layouts."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hpcbench.tuning.block_model import Measured, fit


def blocks(*rows: tuple[float, ...]) -> list[Measured]:
    return [Measured(setting, block, cost) for block, row in enumerate(rows) for setting, cost in enumerate(row)]


def test_a_block_in_which_all_is_slower_changes_no_difference() -> None:
    effects = fit(blocks((1.0, 1.2, 1.5), (3.0, 3.2, 3.5)))
    assert effects.costs[1] - effects.costs[0] == pytest.approx(0.2)
    assert effects.costs[2] - effects.costs[0] == pytest.approx(0.5)
    assert effects.order() == [0, 1, 2]
    assert effects.counts == {0: 2, 1: 2, 2: 2}


def test_settings_that_never_met_are_compared_by_those_that_both_met() -> None:
    measured = [Measured(0, 0, 1.0), Measured(1, 0, 2.0), Measured(1, 1, 12.0), Measured(2, 1, 11.5)]
    effects = fit(measured)
    assert effects.costs[2] - effects.costs[0] == pytest.approx(0.5)


def test_one_disturbed_measurement_does_not_decide() -> None:
    quiet = [(0.00, 0.10), (0.01, 0.10), (0.00, 0.11), (0.01, 0.11), (0.00, 0.10), (0.01, 0.12)]
    effects = fit(blocks(*quiet, (5.0, 0.1)))
    assert effects.costs[1] - effects.costs[0] == pytest.approx(0.1, abs=0.02)


def test_the_noise_of_two_settings_is_that_of_their_differences() -> None:
    # Differences of 0.1, 0.2, 0.3, 0.4 and 0.5: each residual is half of what its difference is off the middle one.
    effects = fit(blocks(*[(0.0, difference) for difference in (0.1, 0.2, 0.3, 0.4, 0.5)]))
    assert effects.freedom == 4
    # The variance of a difference is that of two. What is farther off than 2.5 standard deviations would count as 2.5,
    # which leaves normal noise a part of its variance.
    normal = scipy.stats.norm
    within = 1 - 2 * 2.5 * normal.pdf(2.5) + 2 * (2.5**2 - 1) * normal.sf(2.5)
    assert effects.scale == pytest.approx(math.sqrt(0.025 / 2 / within), rel=1e-3)
    expected = scipy.stats.t.ppf(0.975, 4) * effects.scale * math.sqrt(2 / 5)
    assert effects.half_width(0, 1, 0.95) == pytest.approx(expected)


def test_two_pairs_of_seven_that_were_disturbed_leave_the_others_their_say() -> None:
    gains = (41.0, 2.1, 2.3, 3.4, 3.4, 3.4, 3321.0)
    effects = fit(blocks(*[(-math.log(gain), 0.0) for gain in gains]))
    gain = effects.costs[1] - effects.costs[0]
    assert 3 < math.exp(gain) < 5
    assert math.exp(gain - effects.half_width(0, 1, 0.95)) > 1.5


def test_a_large_grid_with_gaps_keeps_its_differences() -> None:
    measured = [
        Measured(setting, block, 0.001 * setting + 3.0 * block + 0.01 * math.sin(12.9898 * setting + 78.233 * block))
        for block in range(6)
        for setting in range(2000)
        if (setting + block) % 3
    ]
    effects = fit(measured)
    assert effects.freedom == len(measured) - 2000 - 6 + 1
    assert effects.order()[0] < 20
    assert effects.costs[1500] - effects.costs[0] == pytest.approx(1.5, abs=0.02)
    assert effects.scale == pytest.approx(0.01 / math.sqrt(2), rel=0.2)


def test_where_nothing_was_measured_twice_nothing_is_sure() -> None:
    effects = fit(blocks((0.0, 5.0)))
    assert effects.half_width(0, 1, 0.95) == math.inf
    assert not effects.is_significantly_worse(1, 0, 0.95)


def test_what_is_far_beyond_the_noise_is_surely_worse() -> None:
    effects = fit(blocks((0.0, 1.0), (0.01, 1.0), (0.0, 1.01)))
    assert effects.is_significantly_worse(1, 0, 0.95)
    assert not effects.is_significantly_worse(0, 1, 0.95)


def test_without_noise_any_difference_is_sure() -> None:
    assert fit(blocks((1.0, 1.1), (2.0, 2.1))).is_significantly_worse(1, 0, 0.99)


def test_nothing_measured_has_no_effects() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fit([])


@pytest.mark.parametrize("count", [1, 5, 12, 20, 40])
def test_each_connected_group_of_blocks_and_settings_takes_one_degree_of_freedom(count: int) -> None:
    for seed in range(20):
        generator = np.random.default_rng(seed)
        pairs = sorted({(int(generator.integers(12)), int(generator.integers(9))) for _ in range(count)})
        measured = [Measured(*pair, 1.0) for pair in pairs for _ in range(2)]
        settings, blocks_of = (np.unique(side, return_inverse=True)[1] for side in zip(*pairs, strict=True))
        nodes = int(settings.max() + 1 + blocks_of.max() + 1)
        edges = coo_array((np.ones(len(pairs)), (settings, settings.max() + 1 + blocks_of)), (nodes, nodes))
        groups = int(connected_components(edges, directed=False)[0])
        assert fit(measured).freedom == max(0, len(measured) - (nodes - groups))
