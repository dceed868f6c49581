"""Measurements and power over time as charts: what is drawn of many, and that each chart can be drawn at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import vl_convert

from hpcbench.report.charts import over_time
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, PlotSize
from hpcbench.report.export.figure_files import specification
from tests.report import vega_lite

pytestmark = pytest.mark.integration

NO_WINDOWS = pd.DataFrame(columns=["run", "start_s", "end_s", "causes"])
WINDOWS = pd.DataFrame(
    [(1, 1.0, 2.5, "cpu, memory"), (2, 4.0, 4.5, "steal"), (9, 0.0, 1.0, "throttling")], columns=list(NO_WINDOWS)
)
ALTAIRS_MOST = 5000  # rows of one chart


def samples(repetitions: int, count: int, outlier: float = 0.02) -> pd.DataFrame:
    """20 ms each, but for one in each run."""
    frames = []
    for number in range(1, repetitions + 1):
        times = np.where(np.arange(count) == count // 3, outlier, 0.02)
        frames.append(pd.DataFrame({"run": number, "at_s": np.arange(count) * 0.02, "time_s": times}))
    return pd.concat(frames, ignore_index=True)


def power(repetitions: int, hosts: int, parts: list[str], count: int = 500) -> pd.DataFrame:
    lines = [(number, f"n{host}", part) for number in range(repetitions) for host in range(hosts) for part in parts]
    columns = ["run", "host", "part"]
    frames = [
        pd.DataFrame({**dict(zip(columns, line, strict=True)), "at_s": np.linspace(-1, 11, count), "watts": 300.0})
        for line in lines
    ]
    return pd.concat(frames, ignore_index=True)


def drawn(draw: Callable[[PlotSize], Any], place: PlotSize = AS_FILE) -> dict[str, Any]:
    return specification(Figure("id", "title", "caption", "description", draw), place)


def rows(spec: dict[str, Any]) -> pd.DataFrame:
    (data,) = spec["datasets"].values()
    return pd.DataFrame(data)


def titles(spec: Any) -> Iterator[tuple[str, str]]:
    """The axes of all layers, with their titles."""
    if isinstance(spec, dict):
        for name, channel in spec.get("encoding", {}).items():
            if name in ("x", "y"):
                yield name, channel["title"]
        for value in spec.values():
            yield from titles(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from titles(value)


def fields(spec: Any) -> set[str]:
    """The fields of all encodings, tooltips and details."""
    if isinstance(spec, dict):
        own = {spec["field"]} if isinstance(spec.get("field"), str) else set()
        return own.union(*map(fields, spec.values()))
    return set().union(*map(fields, spec)) if isinstance(spec, list) else set()


CHARTS: dict[str, Callable[[PlotSize], Any]] = {
    "one run": lambda place: over_time.samples(samples(1, 50), NO_WINDOWS, place),
    "no frame of windows": lambda place: over_time.samples(samples(1, 50), pd.DataFrame(), place),
    "one measurement each": lambda place: over_time.samples(samples(3, 1), NO_WINDOWS, place),
    "interference": lambda place: over_time.samples(samples(2, 300), WINDOWS, place),
    "very many": lambda place: over_time.samples(samples(8, 4000), WINDOWS, place),
    "power of one": lambda place: over_time.power(power(1, 1, ["gpu0"]), place),
    "power of a single reading": lambda place: over_time.power(power(1, 1, ["gpu0"], count=1), place),
    "power of many": lambda place: over_time.power(power(8, 4, ["gpu0", "gpu1", "gpu2", "cpu0", "dram0"]), place),
}


@pytest.mark.parametrize("place", [AS_FILE, IN_PAPER, ON_PAGE], ids=["file", "paper", "page"])
@pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)
def test_each_chart_has_units_on_its_axes(draw: Callable[[PlotSize], Any], place: PlotSize) -> None:
    spec = drawn(draw, place)
    vega_lite.check(spec)
    assert len(rows(spec)) <= ALTAIRS_MOST
    found = dict(titles(spec))
    assert found["x"] == "time since the first measurement (s)"
    assert found["y"] in ("step time (ms)", "power (W)")


@pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)
def test_each_field_of_a_chart_is_a_column_of_its_data(draw: Callable[[PlotSize], Any]) -> None:
    spec = drawn(draw)
    encoded = fields({name: value for name, value in spec.items() if name != "datasets"})
    assert encoded <= {*rows(spec)}


@pytest.mark.parametrize("name", ["interference", "power of many"])
def test_each_chart_is_drawn(name: str) -> None:
    spec = drawn(CHARTS[name])
    picture = vl_convert.vegalite_to_svg(spec)
    assert ElementTree.fromstring(picture).tag.endswith("svg")  # noqa: S314 - of our own making
    assert dict(titles(spec))["y"] in picture


def test_all_samples_of_few_are_drawn_as_they_are() -> None:
    found = rows(drawn(lambda place: over_time.samples(samples(2, 300, outlier=0.07), NO_WINDOWS, place)))
    assert len(found) == 600
    assert sorted(found["value"].unique()) == [20.0, 70.0]
    assert found["low"].isna().all()


def test_of_very_many_samples_no_outlier_is_lost() -> None:
    found = rows(drawn(lambda place: over_time.samples(samples(2, 90_000, outlier=0.07), NO_WINDOWS, place)))
    assert len(found) == over_time.MAX_POINTS
    assert found.groupby("colour")["high"].agg(["max", lambda high: (high > 20).sum()]).to_numpy().tolist() == [
        [70.0, 1],
        [70.0, 1],
    ]
    assert (found["value"] == 20).all()
    assert (found["low"] == 20).all()
    assert found.groupby("colour")["x"].max().gt(1790).all(), "of 1800 s"


def test_a_disturbed_window_is_drawn_in_the_row_of_its_repetition() -> None:
    spec = drawn(lambda place: over_time.samples(samples(2, 50), WINDOWS, place))
    assert spec["facet"]["row"]["field"] == "colour"
    shaded = rows(spec).dropna(subset="end")
    assert shaded[["colour", "x", "end", "causes"]].to_numpy().tolist() == [
        ["1", 1.0, 2.5, "cpu, memory"],
        ["2", 4.0, 4.5, "steal"],
    ]
    picture = vl_convert.vegalite_to_svg(spec)
    for words in ("run 1", "run 2", "interference from", "cpu, memory", "steal"):
        assert f">{words}<" in picture
    assert "throttling" not in picture, "that was of a run that is not drawn"


def test_no_more_repetitions_are_drawn_than_have_room() -> None:
    frame = samples(10, 3)
    assert sorted(over_time.shown_samples(frame)["run"].unique()) == [1, 2, 3, 4, 5, 6]
    found = rows(drawn(lambda place: over_time.samples(frame, NO_WINDOWS, place)))
    assert sorted(found["colour"].unique()) == list("123456")


@pytest.mark.parametrize(
    ("repetitions", "hosts", "parts", "shown"),
    [(1, 1, 1, (1, 1)), (9, 1, 2, (6, 2)), (9, 1, 6, (4, 6)), (9, 8, 4, (1, 16))],
)
def test_no_more_lines_of_power_are_drawn_than_can_be_told_apart(
    repetitions: int, hosts: int, parts: int, shown: tuple[int, int]
) -> None:
    frame = power(repetitions, hosts, [f"gpu{number}" for number in range(parts)], count=3)
    found = over_time.shown_power(frame)
    assert (found["run"].nunique(), len(found[["host", "part"]].drop_duplicates())) == shown


def test_lines_of_power_are_named_by_part_and_by_host_where_there_are_several() -> None:
    one = rows(drawn(lambda place: over_time.power(power(1, 1, ["gpu0", "cpu0"]), place)))
    assert set(one["colour"]) == {"gpu0", "cpu0"}
    two = rows(drawn(lambda place: over_time.power(power(1, 2, ["gpu0"]), place)))
    assert set(two["colour"]) == {"n0 gpu0", "n1 gpu0"}


def test_power_of_many_readings_is_drawn_as_means() -> None:
    frame = power(4, 1, [f"gpu{number}" for number in range(6)])
    frame["watts"] = np.where(np.arange(len(frame)) % 2, 400.0, 200.0)
    found = rows(drawn(lambda place: over_time.power(frame, place)))
    assert len(found) <= 1.1 * over_time.MAX_POINTS
    assert found["watts"].mean() == pytest.approx(300, rel=0.01)
