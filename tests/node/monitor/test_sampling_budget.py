"""Sharing out what watching may cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.monitor.sampling_budget import allowances


def test_the_shares_are_those_of_the_textbook() -> None:
    """Demands 2, 2.6, 4, 5 on a capacity of 10: the usual example of max-min fairness, which gives 2, 2.6, 2.7, 2.7."""
    assert allowances([2, 2.6, 4, 5], 10) == pytest.approx([2, 2.6, 2.7, 2.7])


def test_what_nobody_asks_for_is_shared_out() -> None:
    assert allowances([1, 3], 10) == pytest.approx([4, 6])


def test_one_dear_source_does_not_slow_down_the_cheap_ones() -> None:
    given = allowances([0.0002] * 10 + [0.05], 0.004)
    assert given[:10] == pytest.approx([0.0002] * 10)
    assert given[10] == pytest.approx(0.002)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 1))
def test_all_of_it_is_given_and_nobody_gets_less_than_an_equal_share_or_its_demand(
    demands: list[float], most: float
) -> None:
    shares = allowances(demands, most)
    assert sum(shares) == pytest.approx(most)
    for demand, share in zip(demands, shares, strict=True):
        assert share >= min(demand, most / len(demands)) - 1e-12
