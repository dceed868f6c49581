"""The interval of the ratio of two predictions."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import Expected
from hpcbench.predict.choice.ratios import (
    OF_RATIOS,
    PRIOR_OF_RATIOS,
    Candidate,
    Ratio,
    RatioErrors,
    ratio,
    ratio_errors,
)

NO_PRIOR = Expected(0.0, 0.0)


def _errors(values: dict[str, dict[str, float]], half_width: float = 0.5) -> pd.DataFrame:
    rows = [(device, item, error, half_width) for device, items in values.items() for item, error in items.items()]
    return pd.DataFrame(rows, columns=["cluster", "item", "error", "half_width"])


def test_an_error_that_devices_share_cancels() -> None:
    shared = {name: {"x": 0.4, "y": 0.1} for name in "abc"}
    assert ratio_errors(_errors(shared), expected=NO_PRIOR) == RatioErrors(3, 3, 0.0)
    assert ratio_errors(_errors(shared)).factor < PRIOR_OF_RATIOS.factor


def test_the_factor_is_of_students_t_with_the_degrees_of_freedom_of_the_devices() -> None:
    found = ratio_errors(_errors({"a": {"x": 0.0}, "b": {"x": 0.1}, "c": {"x": 0.2}}), expected=NO_PRIOR)
    # differences 0.1, 0.2, 0.1: root mean square sqrt(0.02), relative to hypot(0.5, 0.5) = sqrt(0.5);
    # t of 0.95 with 2 degrees of freedom is 2.92
    assert found.factor == pytest.approx(math.sqrt(0.02 / 0.5) * 2.91999, rel=1e-4)


def test_the_prior_counts_as_so_many_devices_more() -> None:
    found = ratio_errors(_errors({"a": {"x": 0.0}, "b": {"x": 0.1}, "c": {"x": 0.2}}))
    # two degrees of freedom of the devices and three of the prior: t of 0.95 with 5 is 2.015
    assert Expected(0.35, 3.0) == OF_RATIOS
    assert found.factor == pytest.approx(math.sqrt((2 * 0.02 / 0.5 + 3 * 0.35**2) / 5) * 2.01505, rel=1e-4)


def test_devices_without_a_common_item_are_no_pair() -> None:
    assert ratio_errors(_errors({"a": {"x": 0.1}, "b": {"y": 0.1}})) == PRIOR_OF_RATIOS
    assert ratio_errors(_errors({"a": {"x": 0.1}})) == PRIOR_OF_RATIOS
    assert ratio_errors(_errors({})) == PRIOR_OF_RATIOS
    assert PRIOR_OF_RATIOS.factor == pytest.approx(0.35 * 2.35336, rel=1e-4)  # t with 3 degrees of freedom


def test_errors_of_pairs_narrow_the_interval_of_independent_errors() -> None:
    one, other = Candidate("a", math.log(2.0), 0.3), Candidate("b", math.log(4.0), 0.4)
    alone = ratio(one, other, None)
    assert (alone.value, alone.low) == pytest.approx((0.5, 0.5 * math.exp(-0.5)))
    assert alone.is_below_one
    assert ratio(one, other, RatioErrors(3, 3, 0.2)).high == pytest.approx(0.5 * math.exp(0.1))


def test_a_price_of_zero_is_below_all_others_and_equal_to_itself() -> None:
    free, other = Candidate("a", -math.inf, 0.0), Candidate("b", math.log(4.0), 0.4)
    assert ratio(free, other, None) == Ratio(0.0, 0.0, 0.0)
    assert ratio(free, free, None) == Ratio(1.0, 1.0, 1.0)
    assert not ratio(free, free, None).is_below_one


def test_errors_of_pairs_never_widen_it() -> None:
    one, other = Candidate("a", math.log(2.0), 0.3), Candidate("b", math.log(4.0), 0.4)
    assert ratio(one, other, RatioErrors(3, 3, 2.0)) == ratio(one, other, None)


def test_a_label_names_the_state() -> None:
    assert Candidate("a", 0.0, 0.1).label == "a"
    assert Candidate("a", 0.0, 0.1, "960 MHz").label == "a at 960 MHz"
