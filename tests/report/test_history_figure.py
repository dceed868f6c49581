"""The plot of a history: a panel for each case, levels between numbered changes, and what changed beside them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
import vl_convert

from hpcbench.analysis.quantities import TIME, Quantity
from hpcbench.report.charts import theme
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, Place
from hpcbench.report.figures import specification
from hpcbench.report.history import History
from hpcbench.report.history_figure import MOST_CASES, MOST_SWEEPS, figures_of_history
from tests.report.made_up_histories import made_up, without_values

FOUR = ((0.2, 1.1), (0.4, 0.9), (0.6, 1.2), (0.8, 0.8))
MANY = tuple((part / 40, 1.1 if part % 2 else 0.9) for part in range(2, 38))
HISTORIES = {
    "one sweep": made_up(1, 1),
    "one case": made_up(30, 1),
    "no change": made_up(9, 1),
    "within an hour": made_up(16, 4, hours=0.1, steps=((0.5, 1.3),)),
    "many changes": made_up(1000, 1, steps=MANY, noise=0.01),
    "30 cases": made_up(30, 30, first=1e-6),
    "long names": made_up(60, 3, name="tag_" + "a_name_<b>&_\x1b " * 20, steps=FOUR),
    "no unit, no direction": made_up(30, 2, quantity=Quantity("metric_x", "x")),
    "far apart": made_up(30, 1, steps=((0.5, 100.0),)),
}


def drawn(history: History, place: Place = AS_FILE) -> dict[str, Any]:
    (figure,) = figures_of_history(history)
    return specification(figure, place)


def panels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return spec.get("vconcat", [spec])  # type: ignore[no-any-return]


def layers(panel: dict[str, Any]) -> list[dict[str, Any]]:
    return [inner for each in panel["layer"] for inner in each.get("layer", [each])]


def rows(spec: dict[str, Any], mark: str, panel: int = 0) -> pd.DataFrame:
    """What the last layer of such marks draws."""
    found = [each for each in layers(panels(spec)[panel]) if each["mark"]["type"] == mark]
    data = next(
        each["data"] for each in (found[-1], *panels(spec)[panel]["layer"], panels(spec)[panel]) if "data" in each
    )
    return pd.DataFrame(spec["datasets"][data["name"]])


@pytest.mark.parametrize("place", [AS_FILE, IN_PAPER, ON_PAGE], ids=["file", "paper", "page"])
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_every_history_is_drawn_and_keeps_to_its_width(history: History, place: Place) -> None:
    spec = drawn(history, place)
    svg = vl_convert.vegalite_to_svg({**spec, "width": 700} if spec.get("width") == "container" else spec)
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314 - of our own making
    assert "NaN" not in svg
    assert "undefined" not in svg
    width = re.search(r'<svg[^>]* width="([0-9.]+)"', svg)
    assert width
    if not place.fluid:
        assert float(width[1]) <= 1.05 * place.width
    assert "start of the sweep (UTC)" in svg


def test_a_case_alone_has_the_quantity_on_its_axis_and_several_have_their_own_units() -> None:
    assert "time of a step (ms)" in vl_convert.vegalite_to_svg(drawn(made_up(30, 1)))
    far = made_up(30, 8, first=1e-6)
    titles = [layers(panel)[1]["encoding"]["y"]["title"] for panel in panels(drawn(far))]
    assert titles == ["us"] * 6 + ["us", "ms"]


def test_the_lines_are_levels_that_end_where_it_changed() -> None:
    history = made_up(30, 1)
    found = rows(drawn(history), "line")
    parts = found.groupby("segment")
    assert parts.size().tolist() == [18, 12]
    assert parts["level"].nunique().tolist() == [1, 1]
    assert parts["level"].first().tolist() == pytest.approx([10.0, 11.2], rel=0.01)
    assert parts["sweep"].first().tolist() == ["nightly-0000", history.shifts[0].after.sweep]


def test_changes_are_numbered_over_all_panels_and_told_above_their_own() -> None:
    history = made_up(100, 4, steps=((0.2, 1.1), (0.6, 0.9)))
    spec = drawn(history)
    assert rows(spec, "text", 1)["number"].tolist() == [1, 3]
    assert rows(spec, "text", 3)["number"].tolist() == [2, 4]
    told = [panel["title"].get("subtitle", []) for panel in panels(spec)]
    assert [len(lines) for lines in told] == [0, 2, 0, 2]
    assert told[3][1].startswith("4: 2026-03-02 1.11x faster [1.11, 1.11]; torch 2.9.0 -> 2.10.0")
    assert rows(spec, "text", 1)["colour"].tolist() == [theme.RED, theme.GREEN]


def test_of_many_changes_the_latest_are_told_and_how_many_more() -> None:
    text = panels(drawn(HISTORIES["many changes"]))[0]["title"]["text"]
    assert text[0] == "... and 32 more before these"
    assert [line.split(":")[0] for line in text[1:]] == ["33", "34", "35", "36"]


@pytest.mark.parametrize("place", [AS_FILE, IN_PAPER], ids=["file", "paper"])
@pytest.mark.parametrize("name", ["many changes", "long names", "within an hour"])
def test_no_number_covers_another(name: str, place: Place) -> None:
    svg = vl_convert.vegalite_to_svg(drawn(HISTORIES[name], place))
    found = re.findall(r'aria-roledescription="text mark"[^>]*translate\(([-0-9.]+),([-0-9.]+)\)"[^>]*>([0-9]+)<', svg)
    assert found
    size = 11 if place == AS_FILE else 7
    for index, (x, y, number) in enumerate(found):
        for other_x, other_y, other in found[index + 1 :]:
            beside = abs(float(x) - float(other_x)) >= size * 0.55 * (len(number) + len(other)) / 2
            assert beside or abs(float(y) - float(other_y)) >= size or number == other


def test_noise_does_not_look_like_a_change() -> None:
    (panel,) = panels(drawn(made_up(9, 1)))
    low, high = layers(panel)[1]["encoding"]["y"]["scale"]["domain"]
    assert high - low == pytest.approx(1, rel=0.01), "a tenth of 10 ms"


def test_of_many_cases_those_that_changed_most_are_drawn_in_their_order() -> None:
    history = HISTORIES["30 cases"]
    (figure,) = figures_of_history(history)
    assert len(panels(drawn(history))) == MOST_CASES
    changed = [history.labels[shift.case] for _, shift in history.numbered]
    names = [panel["title"]["text"][0] for panel in panels(drawn(history))]
    assert set(names) < set(changed)
    assert names == [label for label in history.labels.values() if label in names]
    assert "Of 30 cases, these 8 changed most, or come first." in figure.caption


def test_of_very_many_sweeps_the_latest_are_drawn() -> None:
    history = made_up(MOST_SWEEPS + 10, 1, steps=(), hours=1)
    short = replace(history.histories[0], changes=[]) if False else history.histories[0]
    assert len(short.points) == MOST_SWEEPS + 10
    (figure,) = figures_of_history(history)
    assert "The latest 2,000 sweeps of each case are drawn." in figure.caption
    assert rows(drawn(history), "point")["sweep"].iloc[[0, -1]].tolist() == ["nightly-0010", "nightly-2009"]


def test_what_did_other_work_or_failed_is_not_drawn() -> None:
    history = made_up(12, 1, steps=())
    (found,) = history.histories
    odd = found._replace(compared=found.compared[3:])
    assert len(rows(drawn(replace(history, histories=[odd])), "point")) == 9


def test_nothing_is_drawn_where_nothing_was_measured() -> None:
    assert figures_of_history(without_values(made_up(12, 2))) == []


def test_a_figure_says_in_words_what_changed() -> None:
    (figure,) = figures_of_history(made_up(60, 2))
    assert figure.id == "history-nightly-time-median-s"
    assert figure.title == "Time of a step of nightly on cluster, sweep by sweep"
    assert "1: 2026-02-06 nightly-0036 batch_size=8: 1.12x slower" in figure.description
    assert "beside it: torch 2.5.0 -> 2.6.0" in figure.description
    assert "red for the worse" in figure.caption
    (figure,) = figures_of_history(HISTORIES["no unit, no direction"])
    assert "red" not in figure.caption
    assert TIME.title not in figure.title
