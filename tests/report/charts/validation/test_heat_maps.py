"""Figures of the errors of validated cases, from maps as records have them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.analysis.cases.observations import ValidationMaps
from hpcbench.core.validation.result import HeatMap
from hpcbench.report.charts.theme import ON_PAGE
from hpcbench.report.charts.validation.heat_maps import MAX_CASES, draw, figures_of_validation
from tests.report import vega_lite

SMALL = HeatMap("output", [2, 3], [[0.0, 1e-7, 2e-7], [0.0, 5e-7, 0.0]])
LARGE = HeatMap("kernel", [100, 64], [[float(row * 32 + column) for column in range(32)] for row in range(32)])


def maps(error: HeatMap = SMALL, variance: HeatMap | None = None, ratio: float = 0.25) -> ValidationMaps:
    reason = None if ratio <= 1 else "the output is nan at index [1, 1]"
    return ValidationMaps("operator=softmax", ratio, "failed" if reason else "passed", reason, error, variance)


def drawn(found: HeatMap) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    spec = draw(found, "absolute error", ON_PAGE).to_dict()
    vega_lite.check(spec)
    (rows,) = spec["datasets"].values()
    return spec, rows


def test_each_case_has_a_figure_of_its_errors() -> None:
    (figure,) = figures_of_validation([maps()])
    assert (figure.id, figure.title) == ("error-map-1", "Error of the output: operator=softmax")
    about = "The largest ratio of an error to its bound is 0.25; the validation passed."
    assert figure.caption == f"{about} Each cell is an element."
    assert figure.description == "Absolute error of 2 x 3 elements. The largest is 5e-07, in rows 1 and columns 1."


def test_the_map_of_a_loss_is_not_that_of_a_gradient() -> None:
    (figure,) = figures_of_validation([maps(replace(SMALL, array="loss"))])
    assert figure.title == "Error of the loss: operator=softmax"


def test_a_case_without_a_verdict_has_not_passed() -> None:
    (figure,) = figures_of_validation([replace(maps(), verdict="not validated")])
    assert figure.caption.startswith(
        "The largest ratio of an error to its bound is 0.25; the results are not validated."
    )


def test_a_failure_within_the_bound_has_its_reason() -> None:
    failed = replace(maps(ratio=0.04), verdict="failed", reason="the gradient of x differs from central differences")
    (figure,) = figures_of_validation([failed])
    assert figure.caption.startswith(
        "The largest ratio of an error to its bound is 0.04; the validation failed: the gradient of x differs from "
        "central differences. Each"
    )


def test_calls_that_differ_have_a_figure_of_their_variance() -> None:
    _, figure = figures_of_validation([maps(variance=LARGE)])
    assert figure.id == "variance-map-1"
    assert figure.title == "Variance of the gradient of kernel over calls: operator=softmax"
    assert figure.caption.endswith("different bits. Each cell has the largest value of a block of elements.")
    assert figure.description.endswith("The largest is 1,023, in rows 96 to 99 and columns 62 to 63.")


def test_only_the_cases_with_the_largest_ratios_have_figures() -> None:
    found = list(figures_of_validation([maps()] * (MAX_CASES + 3)))
    assert len(found) == MAX_CASES
    assert "Of 7 cases, those with the 4 largest ratios have such a figure." in found[0].caption
    assert list(figures_of_validation([])) == []


def test_the_cells_of_a_large_array_have_its_indices_and_row_0_is_at_the_top() -> None:
    spec, rows = drawn(LARGE)
    assert len(rows) == 32 * 32
    assert {key: rows[33][key] for key in ("value", "top", "bottom", "left", "right")} == {
        "value": 33.0,
        "top": 3,
        "bottom": 6,
        "left": 2,
        "right": 4,
    }
    y = spec["encoding"]["y"]["scale"]
    assert (y["domain"], y["reverse"]) == ([0, 100], True)
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 64]


@pytest.mark.parametrize("value", [None, math.inf, math.nan, 1e305])
def test_cells_that_are_not_finite_have_their_own_colour(value: float | None) -> None:
    found = HeatMap("output", [1, 2], [[1.0, value]])
    (figure,) = figures_of_validation([maps(found, ratio=math.inf)])
    assert figure.caption.startswith("The validation failed: the output is nan at index [1, 1].")
    assert figure.description.endswith("columns 0. 1 cell of 2 is not finite.")
    spec, rows = drawn(found)
    assert [row["shown"] for row in rows] == ["1", "not finite"]
    assert len(spec["layer"]) == 2
    (figure,) = figures_of_validation([maps(HeatMap("output", [1, 1], [[value]]))])
    assert figure.description == "Absolute error of 1 x 1 elements. 1 cell of 1 is not finite."
