"""Which device is recommended, and when hpcbench cannot tell."""

from __future__ import annotations

import math

import pytest

from hpcbench.predict.choice.ratios import Candidate, RatioErrors
from hpcbench.predict.choice.recommendation import by_limit, recommend

FAST, SLOW, SIMILAR = (
    Candidate("fast", math.log(1.0), 0.1),
    Candidate("slow", math.log(2.0), 0.1),
    Candidate("similar", math.log(1.05), 0.1),
)


def test_the_best_candidate_is_certain_if_no_interval_contains_one() -> None:
    found = recommend([SLOW, FAST], None)
    assert (found.best, found.is_certain) == (FAST, True)
    assert found.others[0].ratio.value == pytest.approx(0.5)


def test_a_rival_makes_the_recommendation_uncertain() -> None:
    found = recommend([SLOW, SIMILAR, FAST], None)
    assert not found.is_certain
    assert [each.candidate for each in found.rivals] == [SIMILAR]
    assert [each.candidate for each in found.others] == [SIMILAR, SLOW]


def test_errors_of_pairs_can_separate_rivals() -> None:
    assert recommend([SIMILAR, FAST], RatioErrors(5, 10, 0.01)).is_certain


def test_a_single_candidate_is_best() -> None:
    assert recommend([FAST], None).is_certain


def test_no_candidate_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one candidate"):
        recommend([], None)


def test_a_limit_divides_candidates_by_their_intervals() -> None:
    found = by_limit([FAST, SLOW, SIMILAR], 1.12)
    assert found.within == (FAST,)
    assert found.uncertain == (SIMILAR,)
    assert found.above == (SLOW,)
