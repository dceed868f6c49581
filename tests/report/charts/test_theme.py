"""Colours, shapes and sizes: who sees no colours, or prints in grey, can read the charts, too."""

from __future__ import annotations

import json
import re
from itertools import combinations

import numpy as np
import pytest
import vl_convert

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.core.frameworks import FRAMEWORKS
from hpcbench.report.charts import theme
from hpcbench.report.charts.figures import chosen
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, PlotSize, config
from hpcbench.report.export.figure_files import specification
from hpcbench.util.package_data import shipped
from tests.report.synthetic_results import case, figures, results, threads

# How a colour in linear RGB is seen without one kind of cones: Machado, Oliveira and Fernandes (2009), "A
# physiologically-based model for simulation of color vision deficiency", IEEE TVCG 15, severity 1.0.
SEEN = {
    "everybody": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
OF_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.119192, 0.9503041]]
)
GRID = [(a, b) for a in (1, 2, 4, 8) for b in (1, 2, 4)]
WHITE = OF_XYZ @ np.ones(3)


def linear(colour: str) -> Floats:
    """Of `#4477AA`, by IEC 61966-2-1."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: Floats) -> Floats:
    """CIE 1976 L*a*b*, of the white of sRGB."""
    part = OF_XYZ @ np.clip(rgb, 0, 1) / WHITE
    root = np.where(part > (6 / 29) ** 3, np.cbrt(part), part / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def contrast(one: str, other: str) -> float:
    """WCAG 2.1, from 1 to 21."""
    light, dark = sorted((0.2126, 0.7152, 0.0722) @ linear(each) for each in (one, other))[::-1]
    return float((light + 0.05) / (dark + 0.05))


def test_the_measures_of_these_tests_are_right() -> None:
    assert lab(linear("#FF0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)  # Lindbloom's calculator
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def of_page() -> dict[str, dict[str, str]]:
    """The colours that the page names, on light and on dark."""
    style = (shipped("templates") / "report" / "page.css").read_text()
    blocks = dict(zip(("light", "dark"), re.findall(r":root[^{]*{([^}]*)}", style), strict=True))
    return {ground: dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for ground, block in blocks.items()}


def series_of_page(ground: str) -> list[str]:
    return [of_page()[ground][name.removeprefix("var(--").removesuffix(")")] for name in theme.OF_PAGE.values()]


PALETTES = {"file": list(theme.COLOURS), "light": series_of_page("light"), "dark": series_of_page("dark")}


@pytest.mark.parametrize("eyes", SEEN)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_differ_for_all_eyes(palette: str, eyes: str) -> None:
    """By five times what can just be noticed (2.3: Mahy, Van Eycken and Oosterlinck, 1994), beside their shapes."""
    seen = [lab(SEEN[eyes] @ linear(colour)) for colour in PALETTES[palette]]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > 5 * 2.3


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_marks_can_be_seen_on_the_page(ground: str) -> None:
    """With the contrast that WCAG 2.1 asks of graphics; what is between both ends of a scale is as light as they."""
    for colour in (*series_of_page(ground), *theme.ON_ANY_GROUND, theme.QUIET):
        assert contrast(colour, of_page()[ground]["paper"]) >= 3, colour


def test_a_chart_on_the_page_names_its_colours_and_no_other() -> None:
    (figure, *_) = figures("frameworks")
    drawn = {place: json.dumps(specification(figure, place)) for place in (ON_PAGE, AS_FILE)}
    for colour, name in theme.OF_PAGE.items():
        assert colour not in drawn[ON_PAGE]
        assert drawn[AS_FILE].count(colour) == drawn[ON_PAGE].count(name)
    assert "var(--series-2)" in drawn[ON_PAGE]


def test_data_that_read_like_a_colour_stay_as_they_are() -> None:
    found = results(case(0.1, param_paint=theme.RED), case(0.2, param_paint=theme.BLUE), repetitions=1)
    (figure, *_) = chosen(found, "color=paint")
    spec = specification(figure, ON_PAGE)
    assert {row["colour"] for rows in spec["datasets"].values() for row in rows} == {theme.RED, theme.BLUE}


def test_every_framework_has_a_colour_a_shape_and_dashes_of_its_own() -> None:
    assert set(theme.MARKS) == set(FRAMEWORKS)
    for values in zip(*theme.MARKS.values(), strict=True):
        assert len(set(map(str, values))) == len(FRAMEWORKS)
    assert {mark.colour for mark in theme.MARKS.values()} <= set(theme.COLOURS), "the page has a tone of each"


def test_as_many_colours_as_shapes_and_dashes() -> None:
    assert len(set(theme.COLOURS)) == len(set(theme.SHAPES)) == len({tuple(each) for each in theme.DASHES})


@pytest.mark.integration
@pytest.mark.parametrize("quantity", [THROUGHPUT, TIME], ids=["more is better", "less is better"])
@pytest.mark.parametrize("step", [0.3, 3.0], ids=["linear", "logarithmic"])
def test_numbers_in_a_heat_map_can_be_read(quantity: Quantity, step: float) -> None:
    """In the colours as they are drawn, with the contrast that WCAG 2.1 asks of text."""
    cells = [threads(a, float(np.exp(step * place)), inter_op_threads=b) for place, (a, b) in enumerate(GRID)]
    (figure, *_) = chosen(results(*cells, repetitions=1, samples=2, quantity=quantity), None)
    svg = vl_convert.vegalite_to_svg(specification(figure, AS_FILE))
    drawn = re.findall(r'aria-roledescription="rect mark"[^>]*fill="rgb\((\d+), (\d+), (\d+)\)"', svg)
    words = re.findall(r'aria-roledescription="text mark"[^>]*?fill="(black|white)"', svg)
    assert len(drawn) == len(words) == len(GRID)
    assert {"black", "white"} == set(words)
    for colour, word in zip(drawn, words, strict=True):
        behind = "#" + "".join(f"{int(part):02x}" for part in colour)
        assert contrast(behind, {"black": "#000000", "white": "#ffffff"}[word]) >= 4.4, (colour, word)


@pytest.mark.parametrize("place", [AS_FILE, IN_PAPER])
def test_text_of_files_has_a_size_and_a_background(place: PlotSize) -> None:
    found = config(place)
    assert found["background"] == "white"
    assert found["axis"]["labelFontSize"] >= (8 if place == IN_PAPER else 12)
    assert "serif" in found["font"]
    assert ("sans-serif" in found["font"]) == (place == AS_FILE)


def test_the_page_chooses_its_fonts_and_backgrounds() -> None:
    assert not {"font", "background", "axis", "title"} & set(config(ON_PAGE))


@pytest.mark.parametrize(("place", "columns"), [(AS_FILE, 3), (IN_PAPER, 2), (IN_PAPER, 1)])
def test_charts_beside_each_other_have_room(place: PlotSize, columns: int) -> None:
    width, height = place.facet(columns)
    assert 0.7 * place.width < columns * width < place.width
    assert height < place.height
