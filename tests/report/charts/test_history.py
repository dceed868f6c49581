"""The plot of a history: a panel for each case, levels between numbered changes, and what changed beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
import vl_convert

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.report.charts import history as history_charts
from hpcbench.report.charts import theme
from hpcbench.report.charts.history import MAX_CASES, figures_of_history
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, PlotSize
from hpcbench.report.export.figure_files import specification
from hpcbench.report.terminal.history import History
from tests.report import vega_lite
from tests.report.synthetic_histories import made_up, without_values

pytestmark = pytest.mark.integration

FOUR = ((0.2, 1.1), (0.4, 0.9), (0.6, 1.2), (0.8, 0.8))
MANY = tuple((0.1 + part / 30, 0.9 if part % 2 else 1.1) for part in range(20))
CLOSE = tuple((0.5 + part / 100, 1.1) for part in range(6))
UNDIRECTED = Quantity("metric_x", "x", more_is_better=None)
HISTORIES: dict[str, Callable[[], History]] = {
    "one sweep": lambda: made_up(1, 1),
    "one case": lambda: made_up(30, 1),
    "no change": lambda: made_up(9, 1),
    "within an hour": lambda: made_up(16, 4, hours=0.1, steps=((0.5, 1.3),)),
    "many changes": lambda: made_up(600, 1, steps=MANY, noise=0.01),
    "30 cases": lambda: made_up(30, 30, first=1e-6),
    "long names": lambda: made_up(60, 3, name="param_" + "a_name_<b>&_\x1b " * 20, steps=FOUR),
    "no unit, no direction": lambda: made_up(30, 2, quantity=UNDIRECTED),
    "far apart": lambda: made_up(30, 1, steps=((0.5, 100.0),)),
    "changes close together": lambda: made_up(600, 1, steps=CLOSE),
}
DRAWN = ("one sweep", "many changes", "no unit, no direction")
DRAWN_IN_PAPER = ("within an hour", "many changes", "long names")


def drawn(history: History, place: PlotSize = AS_FILE) -> dict[str, Any]:
    (figure,) = figures_of_history(history)
    return specification(figure, place)


@cache
def of_history(name: str, place: PlotSize = AS_FILE) -> dict[str, Any]:
    """The specification of one of HISTORIES, which nobody may change."""
    return drawn(HISTORIES[name](), place)


@cache
def picture(name: str, place: PlotSize) -> str:
    return vl_convert.vegalite_to_svg(of_history(name, place))


def panels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return spec.get("vconcat", [spec])  # type: ignore[no-any-return]


def layers(part: dict[str, Any], data: Any = None) -> Iterator[dict[str, Any]]:
    """Each with its data."""
    data = part.get("data", data)
    if "layer" not in part:
        yield {**part, "data": data}
    for each in part.get("layer", []):
        yield from layers(each, data)


def layer(spec: dict[str, Any], mark: str, panel: int = 0) -> dict[str, Any]:
    """The last one of such marks."""
    return [each for each in layers(panels(spec)[panel], spec.get("data")) if each["mark"]["type"] == mark][-1]


def rows(spec: dict[str, Any], mark: str, panel: int = 0) -> pd.DataFrame:
    return pd.DataFrame(spec["datasets"][layer(spec, mark, panel)["data"]["name"]])


@pytest.mark.usefixtures("fonts")
@pytest.mark.parametrize(
    ("name", "place"), [*((name, AS_FILE) for name in DRAWN), *((name, IN_PAPER) for name in DRAWN_IN_PAPER)]
)
def test_histories_are_drawn_and_keep_to_their_width(name: str, place: PlotSize) -> None:
    svg = picture(name, place)
    assert ElementTree.fromstring(svg).tag.endswith("svg")  # noqa: S314 - of our own making
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert "start of the sweep (UTC)" in svg
    width = re.search(r'<svg[^>]* width="([0-9.]+)"', svg)
    assert width
    assert float(width[1]) <= (3.33 * 72 + 1 if place == IN_PAPER else 1.05 * AS_FILE.width)


@pytest.mark.parametrize("name", HISTORIES)
def test_the_figure_of_every_history_is_valid_and_its_data_have_what_is_drawn(name: str) -> None:
    spec = of_history(name)
    vega_lite.check(spec)
    assert layer(spec, "point", len(panels(spec)) - 1)["encoding"]["x"]["title"] == "start of the sweep (UTC)"


def test_on_a_page_one_case_is_as_wide_as_there_is_room_and_its_changes_stand_beside_it() -> None:
    spec = drawn(made_up(30, 1), ON_PAGE)
    assert spec["width"] == "container"
    assert "title" not in spec
    assert [panel["title"]["text"] for panel in panels(drawn(made_up(30, 2), ON_PAGE))] == [
        ["batch_size=4"],
        ["batch_size=8"],
    ]


def test_a_case_alone_has_the_quantity_on_its_axis_and_several_have_their_own_units() -> None:
    assert layer(drawn(made_up(30, 1)), "point")["encoding"]["y"]["title"] == "step time (ms)"
    far = drawn(made_up(30, 3, first=2e-4))
    titles = [layer(far, "point", panel)["encoding"]["y"]["title"] for panel in range(3)]
    assert titles == ["us"] * 2 + ["ms"]


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
    assert told[3][1].startswith("4: 2026-03-02 1.11x [1.11, 1.11] faster; torch 2.9.0 -> 2.10.0")
    assert rows(spec, "text", 1)["colour"].tolist() == [theme.RED, theme.GREEN]


def test_of_many_changes_the_latest_are_told_and_how_many_more() -> None:
    text = panels(of_history("many changes"))[0]["title"]["text"]
    assert text[0] == "... and 16 more before these"
    assert [line.split(":")[0] for line in text[1:]] == ["17", "18", "19", "20"]


@pytest.mark.parametrize(("place", "size"), [(AS_FILE, 11), (IN_PAPER, 7)])
@pytest.mark.parametrize("name", ["many changes", "changes close together"])
def test_no_number_covers_another(name: str, place: PlotSize, size: int) -> None:
    svg = picture(name, place)
    found = re.findall(r'aria-roledescription="text mark"[^>]*translate\(([-0-9.]+),([-0-9.]+)\)"[^>]*>([0-9]+)<', svg)
    assert len(found) > 4
    for (x, y, number), (other_x, other_y, other) in combinations(found, 2):
        wide = 0.55 * size * (len(number) + len(other)) / 2
        assert abs(float(x) - float(other_x)) >= wide or abs(float(y) - float(other_y)) >= size


def test_noise_does_not_look_like_a_change() -> None:
    low, high = layer(drawn(made_up(9, 1, steps=())), "point")["encoding"]["y"]["scale"]["domain"]
    assert high - low == pytest.approx(1, rel=0.01), "a tenth of 10 ms"


def test_of_many_cases_those_that_changed_most_are_drawn_in_their_order() -> None:
    history = HISTORIES["30 cases"]()
    (figure,) = figures_of_history(history)
    changed = [history.labels[shift.case] for _, shift in history.numbered]
    names = [panel["title"]["text"][0] for panel in panels(of_history("30 cases"))]
    assert len(names) == MAX_CASES
    assert set(names) < set(changed)
    assert names == [label for label in history.labels.values() if label in names]
    assert "8 of 30 cases, those with the largest changes first." in figure.caption


def test_of_very_many_sweeps_the_latest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_charts, "MAX_SWEEPS", 20)
    history = made_up(30, 1)
    (figure,) = figures_of_history(history)
    assert "The latest 20 sweeps of each case are drawn." in figure.caption
    assert rows(drawn(history), "point")["sweep"].iloc[[0, -1]].tolist() == ["nightly-0010", "nightly-0029"]


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
    assert figure.title == "Step time of nightly on cluster, by sweep"
    assert "1: 2026-02-06 nightly-0036 batch_size=8: 1.12x [1.12, 1.12] slower" in figure.description
    assert "also changed: torch 2.5.0 -> 2.6.0" in figure.description
    assert "red: worse" in figure.caption
    (figure,) = figures_of_history(HISTORIES["no unit, no direction"]())
    assert figure.title == "X of nightly on cluster, by sweep"
    assert "Dashed lines: changes." in figure.caption
