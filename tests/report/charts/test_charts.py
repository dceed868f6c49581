"""What charts show: colours of frameworks, units, intervals, names that can be drawn, the best, fitted laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.quantities import MEMORY, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.studies.scaling import Scaling, series_of
from hpcbench.analysis.studies.scaling import scaling as scaling_of
from hpcbench.config.names import USER_PARAMETER
from hpcbench.report.charts import cases as by_case
from hpcbench.report.charts import distribution, parallel, scaling, theme
from hpcbench.report.charts.components import LONGEST, in_order, measure, names, shortened, with_limits
from hpcbench.report.charts.encoding import MAX_NAMES, Encoding
from hpcbench.report.charts.figures import chosen
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE
from hpcbench.report.export.figure_files import specification
from tests.report.synthetic_results import case, drawn, figures, results, shape, threads

pytestmark = pytest.mark.integration

LATENCIES = {"a": [np.linspace(0.01, 0.02, 300)], "b": [np.linspace(0.02, 0.05, 10)]}


def spec_of(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    return spec


def layers(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    inner = spec.get("spec", spec)
    return [each for each in inner["layer"] if each["mark"]["type"] == mark]


def rows(spec: dict[str, Any], layer: dict[str, Any]) -> pd.DataFrame:
    data = layer.get("data") or spec.get("data") or spec["spec"]["data"]
    return pd.DataFrame(spec["datasets"][data["name"]])


def scales(spec: Any, channel: str) -> list[dict[str, Any]]:
    if isinstance(spec, list):
        return [found for each in spec for found in scales(each, channel)]
    if not isinstance(spec, dict):
        return []
    told = spec.get(channel)
    own = [told["scale"]] if isinstance(told, dict) and "domain" in told.get("scale", {}) else []
    return own + [found for each in spec.values() if isinstance(each, dict | list) for found in scales(each, channel)]


@pytest.mark.parametrize(
    ("channel", "of_framework"),
    [
        ("color", theme.OF_FRAMEWORK),
        ("shape", theme.SHAPE_OF_FRAMEWORK),
        ("strokeDash", theme.DASH_OF_FRAMEWORK),
    ],
)
def test_a_framework_looks_the_same_in_every_chart(channel: str, of_framework: dict[str, Any]) -> None:
    met: set[str] = set()
    for name in ("two frameworks", "frameworks", "frameworks and threads", "facets", "GPUs", "inference"):
        for figure, spec in drawn(name):
            for scale in scales(spec, channel):
                pairs = dict(zip(scale["domain"], map(str, scale["range"]), strict=True))
                known = {each: look for each, look in pairs.items() if each in of_framework}
                assert known == {each: str(of_framework[each]) for each in known}, figure.id
                met |= set(known)
    assert len(met) > 2


def test_a_curve_of_a_framework_has_its_colour_and_dashes_of_its_own() -> None:
    figure = next(figure for figure in figures("inference") if figure.id.startswith("latency"))
    spec = specification(figure, AS_FILE)
    colours, dashes = scales(spec, "color")[0], scales(spec, "strokeDash")[0]
    for name, colour in zip(colours["domain"], colours["range"], strict=True):
        assert colour == theme.OF_FRAMEWORK[name.split(" ")[0].removeprefix("framework=")]
    assert len({str(each) for each in dashes["range"]}) == len(dashes["domain"])


def test_names_without_a_framework_differ_in_colour_shape_and_dashes() -> None:
    (figure,) = [each for each in figures("weak") if each.id == "throughput-1"]
    spec = specification(figure, AS_FILE)
    for channel in ("color", "shape", "strokeDash"):
        (scale, *_) = scales(spec, channel)
        assert len({str(each) for each in scale["range"]}) == 2


@pytest.mark.parametrize(
    ("unit", "values", "title", "factor"),
    [
        ("s", [0.002, 0.003], "x (ms)", 1e-3),
        ("s", [2.0, 3.0], "x (s)", 1.0),
        ("s", [2e-6], "x (us)", 1e-6),
        ("s", [2e-12], "x (ns)", 1e-9),
        ("s", [0.0, 0.0], "x (ns)", 1e-9),
        ("B", [3 * 2**30], "x (GiB)", 2.0**30),
        ("B", [3 * 2**20, 2**40, None], "x (GiB)", 2.0**30),
        ("FLOP/s", [2e12], "x (TFLOP/s)", 1e12),
        ("items/s", [2e12], "x (items/s)", 1.0),
        ("", [2.0], "x", 1.0),
        ("s", [], "x (s)", 1.0),
    ],
)
def test_an_axis_has_the_unit_that_fits(unit: str, values: list[Any], title: str, factor: float) -> None:
    axis = measure("x", unit, pd.Series(values, dtype=float))
    assert (axis.title, axis.factor) == (title, factor)


@pytest.mark.parametrize(
    ("values", "is_log"),
    [
        ([1, 10], True),
        ([1, 9], False),
        ([0, 100], False),
        ([-1, 100], False),
        ([1, math.inf], False),
        ([1, math.nan, 100], True),
        ([], False),
    ],
)
def test_values_that_lie_far_apart_stand_on_a_logarithmic_axis(values: list[float], *, is_log: bool) -> None:
    assert measure("x", "s", pd.Series(values, dtype=float)).is_log is is_log


def test_limits_are_in_the_unit_of_the_axis_and_known_or_not_there() -> None:
    frame = pd.DataFrame(
        {
            "time_median_s": [0.002, 0.003, 0.004, 0.005],
            "time_ci_low_s": [0.001, None, 0.003, 0.004],
            "time_ci_high_s": [0.003, 0.004, math.inf, 0.006],
        }
    )
    found = with_limits(frame, TIME, measure("time", "s", frame["time_median_s"]))
    assert found["value"].tolist() == [2, 3, 4, 5]
    assert found["low"].isna().tolist() == found["high"].isna().tolist() == [False, True, True, False]
    assert found.loc[3, ["low", "high"]].tolist() == [4, 6]


def test_what_arithmetic_leaves_behind_is_no_difference() -> None:
    frame = pd.DataFrame({"peak_memory_bytes": [0.1 + 0.2, 0.3]})
    assert with_limits(frame, MEMORY, measure("memory", "", [1.0]))["value"].nunique() == 1
    (figure,) = figures("equal")
    (points,) = layers(specification(figure, AS_FILE), "point")
    seen = rows(specification(figure, AS_FILE), points)
    assert seen[["value", "low", "high"]].stack().nunique() == 1


def test_names_are_short_and_stay_different() -> None:
    found = names(pd.Series(["x" * 200, "x" * 199 + "y", "x" * 200, "short", None, "two\nlines"]))
    assert found[0] == found[2] != found[1]
    assert found.tolist()[3:] == ["short", "-", "two lines"]
    assert found.map(len).max() <= LONGEST + 3


def test_names_that_are_equal_once_they_are_printable_stay_different() -> None:
    found = names(pd.Series(["a\x1b", "a\x07"]))
    assert found.nunique() == 2
    assert all(map(str.isprintable, found))


def test_what_is_drawn_is_one_printable_line() -> None:
    assert shortened("a\x1b[31m\tb\r\nc \u202ed") == "a?[31m b c ?d"
    assert len(shortened("x" * 1000)) == LONGEST


def test_numbers_in_a_legend_are_in_the_order_of_their_size() -> None:
    assert in_order(pd.Series(["10", "9", "100", "9"])) == ["9", "10", "100"]
    assert in_order(pd.Series(["b", "a", "10", "b"])) == ["b", "a", "10"]


@pytest.mark.parametrize(
    "name", ["numbers", "frameworks", "single measurements", "wide intervals", "inference", "weak"]
)
def test_intervals_are_drawn_only_where_they_are_known(name: str) -> None:
    for figure, spec in drawn(name):
        intervals = [each for each in layers(spec, "rule") if {"x2", "y2"} & set(each["encoding"])]
        for rule in intervals:
            assert rule["transform"] == [{"filter": "isValid(datum.low) && isValid(datum.high)"}], figure.id
        assert intervals, figure.id


def test_values_and_limits_are_those_of_the_table() -> None:
    found, (figure,) = shape("frameworks"), figures("frameworks")
    spec = specification(figure, AS_FILE)
    seen = rows(spec, layers(spec, "point")[0])
    table = found.cases[[THROUGHPUT.column, *THROUGHPUT.limits]]
    assert seen[["value", "low", "high"]].to_numpy() == pytest.approx(table.to_numpy(dtype=float), rel=1e-8)
    assert seen["name"].tolist() == found.cases["framework"].tolist()


def test_of_many_names_the_best_are_drawn_and_the_caption_says_so() -> None:
    (figure,) = figures("60 names")
    spec = specification(figure, AS_FILE)
    seen = rows(spec, layers(spec, "point")[0])
    assert len(seen) == MAX_NAMES
    assert seen["value"].is_monotonic_decreasing
    assert figure.caption.endswith(" The figure shows the best 40 of 60 cases.")


def test_every_measured_number_has_a_tick() -> None:
    spec = specification(figures("numbers")[0], AS_FILE)
    x = layers(spec, "point")[0]["encoding"]["x"]
    assert x["axis"]["values"] == [1, 2, 4, 8]
    assert x["scale"]["type"] == "log"


def test_cases_that_share_a_place_are_points_without_a_line() -> None:
    found = results(
        *(threads(n, **{USER_PARAMETER + "kind": kind}) for n in (1, 2) for kind in ("a", "b")), repetitions=1
    )
    encoding = by_case.Encoding(THROUGHPUT, x="intra_op_threads")
    spec = spec_of(by_case.draw(found.workloads[0], encoding, AS_FILE))
    assert not layers(spec, "line")
    assert len(layers(spec, "point")) == 1


def test_the_best_cell_of_a_heat_map_has_a_frame() -> None:
    spec = specification(figures("heat")[0], AS_FILE)
    cells, best = layers(spec, "rect")
    assert best["transform"] == [{"filter": "datum.best"}]
    seen = rows(spec, cells)
    assert seen["best"].sum() == 1
    assert seen.loc[seen["best"], "value"].item() == seen["value"].max()
    assert seen.loc[seen["best"], ["x", "colour"]].to_numpy().tolist() == [[4, 1]]


def test_numbers_have_room_in_narrow_cells() -> None:
    grid = [threads(2**a, 0.0003, inter_op_threads=2**b) for a in range(8) for b in range(2)]
    found = results(*grid, repetitions=1, samples=2)
    encoding = by_case.Encoding(THROUGHPUT, "intra_op_threads", "inter_op_threads", heat=True)
    spec = spec_of(by_case.draw(found.workloads[0], encoding, IN_PAPER))
    (text,) = layers(spec, "text")
    longest = rows(spec, text)["shown"].map(len).max()
    assert text["mark"]["fontSize"] * 0.5 * longest < IN_PAPER.width / 8


def test_facets_have_equal_scales_and_one_legend() -> None:
    spec = specification(figures("facets")[0], AS_FILE)
    assert "resolve" not in spec, "Vega-Lite shares the scales of facets, unless it is told otherwise"
    assert spec["facet"]["field"] == "facet"
    assert spec["facet"]["title"] == "execution"
    assert spec["columns"] == 2


def test_names_stand_side_by_side_without_lines_between_them() -> None:
    (figure,) = chosen(shape("inference"), "x=framework,y=throughput,color=intra_op_threads")
    spec = specification(figure, AS_FILE)
    (points,) = layers(spec, "point")
    assert points["encoding"]["x"]["type"] == "nominal"
    assert points["encoding"]["xOffset"]["field"] == "colour"
    assert not layers(spec, "line")
    assert set(rows(spec, points)["x"]) == {"pytorch", "tensorflow", "keras-torch"}


def test_parallel_coordinates_have_a_line_for_each_case() -> None:
    found = shape("50 axes")
    spec = specification(figures("50 axes")[0], AS_FILE)
    every, best = layers(spec, "line")
    seen = rows(spec, every)
    assert seen.groupby("case")["axis"].nunique().tolist() == [parallel.MAX_AXES + 1] * len(found.cases)
    assert seen["y"].between(0, 1).all()
    assert best["transform"] == [{"filter": "datum.case == 0"}]
    assert seen.loc[seen["case"] == 0, "value"].max() == seen["value"].max()


def test_axes_of_one_name_stay_two_axes() -> None:
    work = results(
        *(case(0.1 * n, nodes=n, **{USER_PARAMETER + "nodes": -n}) for n in (1, 2)), repetitions=1
    ).workloads[0]
    spec = spec_of(parallel.draw(work, ["nodes", USER_PARAMETER + "nodes"], THROUGHPUT, AS_FILE))
    axes = rows(spec, layers(spec, "line")[0]).groupby("case")["axis"].agg(list)
    assert axes[0] == ["nodes #1", "nodes #2", "throughput (samples/s)"]


@pytest.mark.parametrize(("place", "halos"), [(AS_FILE, 1), (ON_PAGE, 0)])
def test_words_on_lines_are_white_around_but_on_the_page_which_may_be_dark(place: theme.PlotSize, halos: int) -> None:
    texts = layers(specification(figures("50 axes")[0], place), "text")
    assert [each["mark"].get("stroke") for each in texts] == ["white"] * halos + [None]


def series(found: Results) -> list[Scaling]:
    return [scaling_of(each, found.replicates) for each in series_of(found)]


def test_the_ideal_begins_at_the_base_of_each_series() -> None:
    """One series begins at one CPU, another at four."""
    found = results(*(threads(n, strategy=name) for name, ns in (("ddp", (1, 2, 8)), ("fsdp", (4, 8))) for n in ns))
    spec = spec_of(scaling.speedup(series(found), AS_FILE))
    ideal = next(each for each in layers(spec, "line") if "detail" in each["encoding"])
    points = rows(spec, ideal).sort_values(["base", "x"])[["base", "x", "value"]]
    assert points.to_numpy().tolist() == [[1, 1, 1], [1, 8, 8], [4, 4, 1], [4, 8, 2]]


def test_the_laws_of_all_series_are_one_layer() -> None:
    """Layers put before layers made seven series take five minutes."""
    found = results(*(threads(n, strategy=f"s{k}") for k in range(7) for n in (1, 2, 4)), repetitions=2)
    drawn = series(found)
    for draw in (scaling.speedup, scaling.efficiency):
        spec = spec_of(draw(drawn, AS_FILE))
        (laws,) = [each for each in layers(spec, "line") if "strokeDash" in each["mark"]]
        assert rows(spec, laws)["colour"].nunique() == 7


def test_a_law_and_its_points_are_over_the_same_base() -> None:
    drawn = series(shape("numbers"))
    for draw, last in ((scaling.speedup, 8**0.8), (scaling.efficiency, 8**-0.2)):
        spec = spec_of(draw(drawn, AS_FILE))
        (laws,) = [each for each in layers(spec, "line") if "strokeDash" in each["mark"]]
        law, point = rows(spec, laws), rows(spec, layers(spec, "point")[0])
        assert law["value"].iloc[-1] == pytest.approx(last, rel=0.1)
        assert point["value"].iloc[-1] == pytest.approx(last, rel=0.1)
        assert (law["x"].iloc[0], law["x"].iloc[-1]) == (1, pytest.approx(8))


def test_a_distribution_has_a_curve_for_each_case_and_quantiles_where_there_are_enough() -> None:
    spec = spec_of(distribution.ecdf(LATENCIES, AS_FILE))
    curves, quantiles = rows(spec, layers(spec, "line")[0]), rows(spec, layers(spec, "point")[0])
    assert curves.groupby("colour")["part"].max().to_dict() == {"a": 1, "b": 1}
    assert quantiles.groupby("colour")["part"].agg(list).to_dict() == {"a": [0.5, 0.9, 0.99], "b": [0.5]}
    assert curves["x"].between(10, 50).all(), "in milliseconds"
    assert quantiles["shown"].iloc[0] == "15 ms"


def test_curves_and_their_quantiles_have_one_name() -> None:
    """Though it had to be shortened, and one of the cases has no quantile."""
    few, many = [np.array([0.01, 0.02])], LATENCIES["a"]
    spec = spec_of(distribution.ecdf({"x" * 100: few, "x" * 101: many}, AS_FILE))
    curves, quantiles = rows(spec, layers(spec, "line")[0]), rows(spec, layers(spec, "point")[0])
    assert set(quantiles["colour"]) == {curves["colour"].iloc[-1]}


def test_without_quantiles_a_distribution_is_its_curve() -> None:
    spec = spec_of(distribution.ecdf({"a": [np.array([0.01, 0.02])]}, AS_FILE))
    assert spec["mark"]["type"] == "line"


@pytest.mark.parametrize("name", ["frameworks and threads", "hostile lines", "inference"])
def test_a_legend_has_room_in_its_place(name: str) -> None:
    for place in (AS_FILE, IN_PAPER):
        for _, spec in drawn(name, place):
            longest = max((len(str(each)) for scale in scales(spec, "color") for each in scale["domain"]), default=0)
            columns = spec["config"]["legend"]["columns"]
            assert columns == 1 or columns * longest <= place.characters


def test_a_quantity_of_a_long_name_has_a_short_axis() -> None:
    quantity = Quantity("metric_x", "x" * 300, "it/s")
    assert measure(quantity.title, quantity.unit, [1.0]).title == "x" * (LONGEST - 3) + "... (it/s)"


@pytest.mark.parametrize(
    ("column", "values", "title", "shown"),
    [
        ("peak_memory_bytes", [15 * 2**20, 30 * 2**20], "peak memory (MiB)", [15, 30]),
        ("first_step_s", [0.0146, 0.0292], "first step (ms)", [14.6, 29.2]),
        ("batch_size", [16, 32], "batch size", [16, 32]),
    ],
)
def test_a_column_with_a_unit_is_an_axis_with_it(
    column: str, values: list[float], title: str, shown: list[float]
) -> None:
    work = results(*(case(0.1 * place, batch_size=16 * place) for place in (1, 2)), repetitions=1).workloads[0]
    plotted = Workload("", "", work.cases.assign(**{column: values}), work.shown)
    spec = spec_of(by_case.draw(plotted, Encoding(TIME, x=column), AS_FILE))
    points = layers(spec, "point")[0]
    assert points["encoding"]["x"]["title"] == title
    assert sorted(rows(spec, points)["x"]) == pytest.approx(shown)
    assert ("values" in points["encoding"]["x"].get("axis", {})) == (column == "batch_size")
