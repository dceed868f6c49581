"""Devices over all cases, with ratios by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from hpcbench.predict.results.overview import overview, overview_within
from hpcbench.predict.results.predictions import Predictions
from hpcbench.predict.results.table import ENERGY, PRICE, TIME, limits_of

NAN = float("nan")


def results(*rows: tuple[str, str, float, float, str], factor: float = 1.001) -> Predictions:
    """Return default states: case, device, time, energy, and whether the case fits.

    Intervals are from the value over `factor` to the value times `factor`. Prices are twice the time.
    """
    frame = pd.DataFrame(rows, columns=["case", "device", "time_s", "energy_j", "fits"])
    frame = frame.assign(state="", predicted_from="operators", **{PRICE: 2 * frame["time_s"]})
    for name in (TIME, ENERGY, PRICE):
        low, high = limits_of(name)
        frame = frame.assign(**{low: frame[name] / factor, high: frame[name] * factor})
    return Predictions("made", frame, pd.DataFrame())


def test_devices_have_counts_and_geometric_means_and_the_fastest_is_first() -> None:
    found, count = overview(
        results(
            ("c1", "a", 2.0, 10.0, "yes"),
            ("c1", "b", 1.0, 40.0, "yes"),
            ("c2", "a", 8.0, 10.0, "yes"),
            ("c2", "b", 1.0, 10.0, ""),
        )
    )
    assert count == 2
    assert [each.device for each in found] == ["b", "a"]
    counts = [(each.standings[TIME].lowest, each.standings[ENERGY].lowest, each.does_not_fit) for each in found]
    assert counts == [(2, 0, 0), (0, 1, 0)]
    assert [each.standings[TIME].ratio for each in found] == pytest.approx([1.0, 4.0])
    assert [each.standings[ENERGY].ratio for each in found] == pytest.approx([2.0, 1.0])
    assert [each.standings[PRICE] for each in found] == [each.standings[TIME] for each in found]


def test_a_case_is_conclusive_if_the_interval_of_each_ratio_is_below_one() -> None:
    rows = (("c1", "a", 1.0, 5.0, ""), ("c1", "b", 3.0, 5.0, ""), ("c2", "a", 1.0, 4.0, ""), ("c2", "b", 1.2, 5.0, ""))
    found, _ = overview(results(*rows, factor=1.5))
    assert {each.device: (each.standings[TIME].lowest, each.standings[TIME].conclusive) for each in found} == {
        "a": (2, 1),
        "b": (0, 0),
    }


def test_cases_that_a_device_lacks_or_that_do_not_fit_are_left_out() -> None:
    found, count = overview(
        results(
            ("c1", "a", 1.0, NAN, "yes"),
            ("c1", "b", 2.0, NAN, "yes"),
            ("c2", "a", 1.0, NAN, "no"),
            ("c2", "b", 2.0, NAN, "yes"),
            ("c3", "a", NAN, NAN, ""),
            ("c3", "b", 9.0, NAN, ""),
        )
    )
    assert count == 1
    assert [(each.device, each.does_not_fit) for each in found] == [("a", 1), ("b", 0)]
    assert [str(each.standings[ENERGY].ratio) for each in found] == ["nan", "nan"]


def test_ratios_to_a_price_of_zero_are_unknown() -> None:
    made = results(
        ("c1", "a", 1.0, NAN, ""), ("c1", "b", 2.0, NAN, ""), ("c2", "a", 1.0, NAN, ""), ("c2", "b", 2.0, NAN, "")
    )
    free = {name: made.results[name].where(made.results["device"] == "a", 0.0) for name in (PRICE, *limits_of(PRICE))}
    found, _ = overview(replace(made, results=made.results.assign(**free)))
    prices = {each.device: each.standings[PRICE] for each in found}
    assert (prices["b"].lowest, prices["b"].conclusive, prices["b"].ratio) == (2, 2, 1.0)
    assert math.isnan(prices["a"].ratio)


def test_a_tie_counts_for_no_device() -> None:
    found, _ = overview(
        results(
            ("c1", "a", 1.0, 5.0, "yes"),
            ("c1", "b", 1.005, 5.0, "yes"),
            ("c2", "a", 1.0, 5.0, "yes"),
            ("c2", "b", 1.02, 4.0, "yes"),
        )
    )
    assert {each.device: (each.standings[TIME].lowest, each.standings[ENERGY].lowest) for each in found} == {
        "a": (1, 0),
        "b": (0, 1),
    }


def test_without_complete_cases_there_are_no_devices() -> None:
    assert overview(results(("c1", "a", NAN, NAN, ""))) == ([], 0)


def test_within_a_limit_devices_are_compared_by_the_energy_of_their_states_within_it() -> None:
    """Case c1: `a` alone is within 2.5 s; c2: `b` needs less; c3: a tie; c4: none; c5: the energy of `b` is unknown."""
    made = results(
        *(("c1", "a", 2.0, 9.0, ""), ("c1", "b", 3.0, 5.0, "")),
        *(("c2", "a", 1.0, 9.0, ""), ("c2", "b", 2.0, 5.0, "")),
        *(("c3", "a", 1.0, 5.0, ""), ("c3", "b", 2.0, 5.01, "")),
        *(("c4", "a", 2.499, 5.0, ""), ("c4", "b", 9.0, 5.0, "")),
        *(("c5", "a", 1.0, 5.0, ""), ("c5", "b", 2.0, NAN, "")),
        *(("c6", "a", 1.0, 5.0, ""), ("c6", "b", 1.0, 4.0, "no")),
    )
    found, count = overview_within(made, 2.5)
    assert count == 5
    assert [(each.device, each.within, each.lowest, each.conclusive, each.does_not_fit) for each in found] == [
        ("a", 4, 1, 1, 0),
        ("b", 3, 1, 1, 1),
    ]
    wide, _ = overview_within(results(*[("c1", "a", 1.0, 9.0, ""), ("c1", "b", 1.0, 5.0, "")], factor=2.0), 2.5)
    assert [(each.within, each.lowest, each.conclusive) for each in wide] == [(1, 0, 0), (1, 1, 0)]
    assert overview_within(results(("c1", "a", NAN, NAN, "")), 2.5) == ([], 0)
