"""Profiles of operators in a report: on a terminal, on the page, as JSON and as figures; all numbers are made up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.results import Results
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.report.charts.operators import MAX_BARS, figures_of_operators
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, ON_PAGE, PlotSize
from hpcbench.report.export.figure_files import specification
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.profiles_json import profiles_json
from hpcbench.report.html.build_page import Origin, page_of
from hpcbench.report.html.operators import operators_of
from hpcbench.report.html.render import render
from hpcbench.report.terminal.operators import MAX_PROFILES, print_operators
from tests.operator_tables import operator_rows
from tests.report import vega_lite
from tests.report.synthetic_results import HOSTILE, case, results, threads

CONV = '{"input":{"dtype":"float32","shape":[8,3,32,32],"strides":[]},"weight":{"shape":[64,3,3,3]},"groups":1}'
NETWORK = {"kind": "network", "operator": "network", "hot_s": 0.020}
CONV_ROW = {
    "kind": "conv2d",
    "operator": "aten.convolution.default",
    "arguments": CONV,
    "calls_per_step": 3,
    "stream_s": 0.004,
    "hot_s": 0.003,
    "cold_s": 0.005,
    "flops": 8_000_000,
    "bytes_moved": 1_000_000,
    "power_reason": "no access to RAPL",
}
RELU = {
    "kind": "relu",
    "calls_per_step": 2,
    "stream_s": 0.001,
    "phase": "backward",
    "power_reason": "no access to RAPL",
}
VIEW = {"kind": "view", "operator": "aten.view.default", "calls_per_step": 7, "reason": "view"}
PEAKS = [MachinePeaks("a CPU", 8, None, (Peak("cpu", 1, "float32", 5e10, 8e9, "numpy", "n1", "2026-11-01"),))]


@cache
def cases_of_threads(count: int) -> Results:
    """The results of so many cases, of 1, 2, ... threads on one core."""
    found = results(*(threads(place + 1) for place in range(count)), repetitions=1, samples=1)
    return replace(found, cases=found.cases.assign(cpu_model="a CPU", physical_cores_per_task=1, cpus_per_task=1))


def profiled(*rows: dict[str, Any], of: int = 1, **changes: Any) -> Results:
    """The results of so many cases of 1, 2, ... threads, each with these operators."""
    found = cases_of_threads(max(of, 2))
    cases = found.cases.head(of)
    its = [{**row, "sweep": one["sweep"], "case": one["case"]} for _, one in cases.iterrows() for row in rows]
    return replace(found, operators=operator_rows(*its, **changes))


def printed(found: Results, width: int = 300) -> str:
    file = io.StringIO()
    print_operators(found, Console(file=file, width=width))
    return file.getvalue()


def test_the_terminal_shows_kinds_the_longest_operators_and_how_they_add_up() -> None:
    text = printed(profiled(NETWORK, CONV_ROW, RELU, VIEW))
    first, *lines = text.splitlines()
    assert first.startswith("operators of ")
    assert first.endswith(": 70.0 % of a step of 20 ms")
    words = [line.split() for line in lines]
    assert ["forward", "conv2d", "1", "3", "12.00", "60.0"] in words
    assert ["backward", "relu", "1", "2", "2.00", "10.0"] in words
    (longest,) = (line for line in lines if line.startswith("convolution"))
    assert "input 8x3x32x32, weight 64x3x3x3" in longest
    assert longest.split()[-1] == "2", "8 MFLOP in 4 ms are 2 GFLOP/s"
    assert "stream 0.700, hot 0.450 (without 1 operator), cold 0.750 (without 1 operator)." in text
    assert "Framework overhead: 30.0 % of the step is outside the operators." in text
    assert "use the times in the network" not in text, "they were not measured"
    assert "Not timed alone: 1 operator (7 calls): view." in text
    assert "Energy by operator: not measured (no access to RAPL)." in text


def test_a_reason_that_all_profiles_share_is_printed_once_after_the_last() -> None:
    missing = "Energy by operator: not measured (no access to RAPL)."
    found = profiled(NETWORK, CONV_ROW, of=3)
    text = printed(found)
    assert (text.count("operators of "), text.count(missing)) == (3, 1)
    assert text.index(missing) > text.rindex("operators of ")
    page = operators_of(found)
    assert page is not None
    assert (page.about.count(missing), [missing in table.note for table in page.tables]) == (1, [False] * 6)


def test_different_reasons_are_printed_after_their_profiles() -> None:
    found = profiled(NETWORK, CONV_ROW, of=3)
    is_other = found.operators["case"] == found.profiles[1].case
    table = found.operators.assign(power_reason=found.operators["power_reason"].mask(is_other, "no sensor"))
    _, *texts = printed(replace(found, operators=table)).split("operators of ")
    reasons = ["no access to RAPL", "no sensor", "no access to RAPL"]
    assert [f"not measured ({reason})" in text for text, reason in zip(texts, reasons, strict=True)] == [True] * 3


def test_energy_is_shown_where_it_was_measured() -> None:
    measured = {"energy_per_call_j": 0.4, "power_w": 125.0, "power_reason": None}
    text = printed(profiled({**NETWORK, "energy_per_call_j": 3.0}, {**CONV_ROW, **measured}, RELU))
    assert "J per step" in text
    expected = "Energy of the operators: 1.5 J per step, measured for 85.7 % of their time; the whole step: 3 J."
    assert expected in text


def test_the_longest_operators_have_energy_with_uncertainty_and_a_mark_if_the_clock_moved() -> None:
    measured = {"power_w": 125.0, "power_uncertainty_w": 5.0, "power_reason": None, "clock_moved": True}
    found = profiled(NETWORK, {**CONV_ROW, **measured}, RELU)
    text = printed(found)
    (longest,) = (line for line in text.splitlines() if line.startswith("convolution"))
    assert longest.split()[-2:] == ["0.5*", "0.02"], "125 W +- 5 W in 4 ms"
    assert "*: the clock moved by more than 2 % in the power window, or in the measurement of the step." in text
    (operators,) = (each["operators"] for each in profiles_json(found))
    assert (operators[0]["power_w"], operators[0]["clock_moved"], operators[1]["clock_moved"]) == (125, True, False)
    assert operators[0]["joules_uncertainty"] == pytest.approx(0.06)
    assert "J per call" not in printed(profiled(NETWORK, CONV_ROW, RELU))


@pytest.mark.parametrize(("step_s", "uses_network"), [(0.020, True), (0.013, False)])
def test_if_the_stream_times_do_not_add_up_to_the_step_those_in_the_network_are_named(
    step_s: float, uses_network: bool
) -> None:
    text = printed(profiled({**NETWORK, "hot_s": step_s}, {**CONV_ROW, "in_network_s": 0.006}))
    expected = "do not account for the step (ratio not between 0.9 and 1.1): use the `in network` times."
    assert (expected in text) == uses_network


def test_operators_that_take_longer_alone_are_no_negative_overhead() -> None:
    text = printed(profiled({**NETWORK, "hot_s": 0.010}, CONV_ROW))
    assert "The operators take 20.0 % longer than the whole step; framework overhead: not measurable." in text
    assert "-20" not in text


def test_without_the_time_of_the_whole_step_there_are_no_ratios() -> None:
    text = printed(profiled(CONV_ROW))
    assert "a step that was not measured" in text
    assert "overhead" not in text


def test_a_report_without_profiles_prints_nothing() -> None:
    plain = results(case(0.1))
    assert printed(plain) == ""
    assert operators_of(plain) is None
    assert figures_of_operators(plain, PEAKS) == []
    assert profiles_json(plain) == []


def test_a_narrow_terminal_drops_columns_and_many_profiles_are_counted() -> None:
    text = printed(profiled(NETWORK, CONV_ROW, of=MAX_PROFILES + 2), width=60)
    table = [line for line in text.splitlines() if line.startswith(("convolution", "forward"))]
    assert len(table) == 2 * MAX_PROFILES
    assert all(len(line.rstrip()) <= 60 for line in table)
    assert "and 2 more profiles" in text


def test_the_page_has_two_tables_for_each_profile() -> None:
    section = operators_of(profiled(NETWORK, CONV_ROW, RELU, of=2))
    assert section is not None
    assert (section.title, section.name, len(section.tables)) == ("Time by operator", "Operators", 4)
    measured = operators_of(profiled(NETWORK, {**CONV_ROW, "power_w": 125.0, "power_reason": None}))
    assert measured is not None
    assert measured.title == "Time and energy by operator"
    kinds, longest, *_ = section.tables
    assert kinds.title.startswith("Operators of ")
    assert kinds.places[0].cells[:2] == ("forward", "conv2d")
    assert longest.places[0].cells[0] == "convolution"
    assert "Framework overhead: 30.0 %" in longest.note


def test_the_section_is_on_the_page_and_in_its_navigation() -> None:
    html = render(page_of(profiled(NETWORK, CONV_ROW), [], [], Origin((), (), (), datetime(2026, 11, 22))))
    assert '<section id="operators"' in html
    assert '<a href="#operators">Operators</a>' in html
    assert '"operators"' not in render(page_of(cases_of_threads(2), [], [], Origin((), (), (), datetime(2026, 11, 22))))


def test_json_has_sums_kinds_and_operators_and_null_for_what_is_unknown() -> None:
    (found,) = json.loads(json_text({"operators": profiles_json(profiled(NETWORK, CONV_ROW, RELU, VIEW))}))["operators"]
    assert found["step_time_s"] == 0.020
    assert found["framework_overhead"] == pytest.approx(0.3)
    assert found["sums"]["stream"] == {"seconds": pytest.approx(0.014), "ratio": pytest.approx(0.7), "lacking": 0}
    assert found["joules_per_step"] is None
    assert found["energy_unknown_because"] == "no access to RAPL"
    assert [each["kind"] for each in found["kinds"]] == ["conv2d", "relu"]
    assert [each["timed"] for each in found["operators"]] == ["stream", "stream", None]
    assert found["not_timed_alone"] == [{"reason": "view", "operators": 1, "calls": 7, "step_s": 0.0, "share": 0.0}]


@pytest.mark.parametrize("place", [IN_PAPER, ON_PAGE], ids=["paper", "page"])
def test_figures_of_shares_and_of_the_roofline(place: PlotSize) -> None:
    shares, roofline = figures_of_operators(profiled(NETWORK, CONV_ROW, RELU, of=2), PEAKS)
    spec = specification(shares, place)
    vega_lite.check(spec)
    (rows,) = spec["datasets"].values()
    first = {row["colour"]: row["share"] for row in rows if row["name"] == rows[0]["name"]}
    assert first == {"conv2d": pytest.approx(0.6), "relu": pytest.approx(0.1), "no operator": pytest.approx(0.3)}
    assert "conv2d 60 %, relu 10 %." in shares.description
    spec = specification(roofline, place)
    vega_lite.check(spec)
    points = [row for rows in spec["datasets"].values() for row in rows if "tensors" in row]
    assert [(row["x"], row["name"]) for row in points] == [(8.0, "convolution")] * 2
    roofs = {row["roof"] for rows in spec["datasets"].values() for row in rows if "roof" in row}
    assert roofs == {"1 core: 50 GFLOP/s"}
    assert "2 GFLOP/s at 8 FLOP/byte" in roofline.description
    assert "No peaks" not in roofline.caption


def test_without_peaks_the_roofline_has_only_points_and_says_so() -> None:
    _, roofline = figures_of_operators(profiled(NETWORK, CONV_ROW))
    vega_lite.check(specification(roofline, AS_FILE))
    assert "hpcbench doctor has not measured them" in roofline.caption


def test_without_flops_there_is_no_roofline_and_without_times_no_figure() -> None:
    assert [figure.id for figure in figures_of_operators(profiled(NETWORK, RELU))] == ["operators-shares"]
    assert figures_of_operators(profiled(NETWORK, VIEW)) == []


def test_rare_kinds_and_many_profiles_are_combined_or_cut() -> None:
    kinds = [{"kind": f"kind{number}", "stream_s": 0.001 / (number + 1)} for number in range(12)]
    (shares,) = figures_of_operators(profiled(NETWORK, *kinds))
    (rows,) = specification(shares, AS_FILE)["datasets"].values()
    assert [row["colour"] for row in rows] == [*(f"kind{number}" for number in range(6)), "other kinds", "no operator"]
    many = figures_of_operators(profiled(NETWORK, RELU, of=MAX_BARS + 1))
    assert f"the first {MAX_BARS} of {MAX_BARS + 1} profiles" in many[0].caption


@pytest.mark.parametrize(
    "text",
    [*HOSTILE, '{"a":{"shape":[1e999]}}', '{"a":{"shape":[-1,"x"]}}', "[" * 5000],
    ids=lambda text: ascii(text)[:30],
)
def test_whatever_a_node_has_written_can_be_shown(text: str) -> None:
    row = {**CONV_ROW, "kind": text[:50], "operator": text, "arguments": text, "reason": text, "power_reason": text}
    huge = {**RELU, "stream_s": 1e300, "calls_per_step": 2**62, "flops": 2**62, "bytes_moved": 1}
    found = profiled({**NETWORK, "hot_s": 1e-300}, row, huge)
    shown = printed(found)
    assert not any(ord(character) < 32 and character != "\n" for character in shown)
    assert operators_of(found) is not None
    json_text({"operators": profiles_json(found)})
    for figure in figures_of_operators(found, PEAKS):
        json.dumps(specification(figure, AS_FILE), allow_nan=False)
