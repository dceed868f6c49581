"""The share of configurations that each one beats, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.analysis.stats.superiority import beaten

NAN = float("nan")


@pytest.mark.parametrize(
    ("limits", "shares"),
    [
        ([(1, 2), (3, 4), (5, 6)], [1, 0.5, 0]),
        ([(1, 2), (2, 4), (5, 6)], [0.75, 0.75, 0]),  # limits that touch are a tie
        ([(1, 9), (3, 4), (5, 6)], [0.5, 0.75, 0.25]),
        ([(1, 1), (1, 1)], [0.5, 0.5]),
        ([(1, 2), (NAN, NAN), (5, 6)], [0.75, 0.5, 0.25]),
        ([(1, 2)], [NAN]),
    ],
)
def test_a_configuration_beats_those_whose_interval_lies_above_and_half_of_those_that_overlap(
    limits: list[tuple[float, float]], shares: list[float]
) -> None:
    low, high = np.array(limits, dtype=np.float64).T
    assert beaten(low, high).tolist() == pytest.approx(shares, nan_ok=True)


def test_it_is_what_counting_all_pairs_gives() -> None:
    """U over the number of pairs, with ties as a half: Mann and Whitney, 1947."""
    generator = np.random.default_rng(1)
    low = generator.random(40)
    high = low + generator.random(40) * 0.2
    counted = [
        np.mean([1.0 if high[a] < low[b] else 0.0 if high[b] < low[a] else 0.5 for b in range(40) if b != a])
        for a in range(40)
    ]
    assert beaten(low, high).tolist() == pytest.approx(counted)
    assert beaten(low, high).mean() == pytest.approx(0.5)
