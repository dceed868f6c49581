"""The figure of predictions: points with intervals, and the Pareto front."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.predict.results.table import TIME, limits_of
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.predictor.chart import figures_of_predictions, ticks
from tests.report.predictor.made_predictions import made_predictions, question

pytest.importorskip("altair")
TIMES = (TIME, *limits_of(TIME))


def specification(cases: int = 1) -> dict[str, Any]:
    (figure, *_) = figures_of_predictions(made_predictions(question(cases)))
    found: dict[str, Any] = json.loads(json.dumps(figure.draw(ON_PAGE).to_dict()))
    return found


def rows_of(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    """Return the data of the first layer with a mark."""
    layer = next(each for each in spec["layer"] if each["mark"]["type"] == mark)
    found: list[dict[str, Any]] = spec["datasets"][layer.get("data", spec.get("data"))["name"]]
    return found


def test_each_device_and_state_is_a_point_with_intervals() -> None:
    points = rows_of(specification(), "point")
    assert {row["name"] for row in points} == {
        f"{device}{state}" for device in ("a100-pcie-40", "h100-sxm", "l40s") for state in ("", " at 960 MHz")
    }
    first = points[0]
    assert (first["x"], first["x_low"]) == (pytest.approx(100), pytest.approx(100 / 1.1))
    assert first["low"] < first["value"] < first["high"]


def test_the_front_has_only_undominated_points_in_rising_time() -> None:
    stairs = rows_of(specification(), "line")
    assert [row["name"] for row in stairs] == ["h100-sxm", "l40s", "l40s at 960 MHz"]


def test_each_case_has_a_figure_whose_description_names_the_front() -> None:
    found = figures_of_predictions(made_predictions())
    assert [each.id for each in found] == ["predictions-two-batches-1", "predictions-two-batches-2"]
    assert "fastest first: h100-sxm, l40s, l40s at 960 MHz" in found[0].description


def test_intervals_are_drawn_for_default_states_only() -> None:
    rules = [each for each in specification()["layer"] if each["mark"]["type"] == "rule"]
    assert [each["transform"] for each in rules] == [[{"filter": "datum.state === ''"}]] * 2


def test_both_axes_are_logarithmic_and_the_legend_is_as_strong_as_the_points() -> None:
    layer = next(each for each in specification()["layer"] if each["mark"]["type"] == "point")
    assert [layer["encoding"][name]["scale"]["type"] for name in ("x", "y")] == ["log", "log"]
    assert [layer["encoding"][name]["legend"]["symbolOpacity"] for name in ("color", "shape")] == [1, 1]


def test_points_of_other_states_are_small_and_the_caption_explains_them() -> None:
    layer = next(each for each in specification()["layer"] if each["mark"]["type"] == "point")
    size = layer["encoding"]["size"]
    assert size["condition"]["test"] == "datum.state === ''"
    assert size["condition"]["value"] > size["value"]
    (with_states,) = figures_of_predictions(made_predictions(question(1)))
    (without,) = figures_of_predictions(made_predictions(question(1, ())))
    assert "small points: lower clocks and power limits" in with_states.caption
    assert "small points" not in without.caption


def test_long_axes_have_ticks_at_one_two_and_five_times_powers_of_ten() -> None:
    made = made_predictions(question(1))
    rows = made.results
    is_slow = rows["device"] == "a100-pcie-40"
    made = replace(made, results=rows.assign(**{name: rows[name].mask(is_slow, 40 * rows[name]) for name in TIMES}))
    found = {}
    for name, predictions in (("long", made), ("short", made_predictions(question(1)))):
        (figure,) = figures_of_predictions(predictions)
        layers = figure.draw(ON_PAGE).to_dict()["layer"]
        found[name] = [each["encoding"]["x"]["axis"].get("values") for each in layers if each["mark"]["type"] != "rule"]
    assert found == {"long": [[50, 100, 200, 500, 1000, 2000, 5000]] * 2, "short": [[60, 80, 100, 120]] * 2}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (5.5, 22.0, [6, 8, 10, 12, 14, 16, 18, 20, 22]),
        (0.51, 4.99, [1, 2, 3, 4]),
        (100.0, 101.0, [100, 100.2, 100.4, 100.6, 100.8, 101]),
        (5.0, 49.0, [5, 10, 20]),
    ],
)
def test_ticks_are_over_the_whole_range(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected
