"""A comparison on a terminal, as JUnit XML and as JSON: order, words, and data that stays data."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from rich.console import Console

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.studies.comparison import Comparison
from hpcbench.report.export.comparison_json import comparison_json
from hpcbench.report.export.comparison_junit import comparison_junit
from hpcbench.report.terminal.comparison import print_comparison

METRICS = {"metric_rate_it_per_s": Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)}
CANDIDATES = ["framework", "batch_size", "nodes", "param_note"]
Make = Callable[..., Comparison]


@pytest.fixture
def make() -> Make:
    """A comparison with one row for each dictionary of changes; one without a ratio was not compared."""

    def row(number: int, changes: dict[str, Any]) -> dict[str, Any]:
        numbers = {"ratio": 1.034, "ratio_ci_low": 1.021, "ratio_ci_high": 1.047, "p_value": 1e-5, "rank_sum_p": 0.0079}
        medians = {"base_median": 0.0291, "new_median": 0.0301}
        absent = dict.fromkeys([*numbers, *medians]) if changes.get("ratio", 1) is None else {}
        return {
            "case": f"case-{number}",
            "experiment": "study",
            "framework": "pytorch",
            "batch_size": 32,
            "nodes": number + 1,
            "param_note": "a",
            "quantity": "time_median_s",
            "verdict": "slower",
            **numbers,
            **medians,
            **absent,
            "base_runs": 5,
            "new_runs": 5,
            "runs_needed": None,
            "base_status": "completed",
            "new_status": "completed",
            "reason": None,
            **changes,
        }

    def comparison(*rows: dict[str, Any], **settings: Any) -> Comparison:
        frame = pd.DataFrame([row(number, changes) for number, changes in enumerate(rows)])
        whole = dict.fromkeys(["base_runs", "new_runs", "runs_needed"], "Int64")
        numbers = ["ratio", "ratio_ci_low", "ratio_ci_high", "p_value", "rank_sum_p", "base_median", "new_median"]
        frame = frame.astype({**whole, **dict.fromkeys(numbers, float)})
        found = Comparison("main", "next", 0.01, frame, machines={}, versions={}, settings={}, warnings=[])
        return found._replace(**settings)

    return comparison


DOUBT = {"verdict": "inconclusive", "reason": "not significant (p = 0.2); about 9 runs per side would suffice"}
GONE = {"verdict": "missing", "ratio": None, "reason": "not measured in NEW (failed: it broke)"}


def printed(comparison: Comparison, top: int = 40, width: int = 200) -> str:
    file = io.StringIO()
    print_comparison(comparison, CANDIDATES, METRICS, top, Console(file=file, width=width, highlight=False))
    return file.getvalue()


def test_a_row_has_both_medians_the_ratio_its_interval_and_the_verdict(make: Make) -> None:
    lines = printed(make({}, {"verdict": "same", "new_runs": 4})).splitlines()
    assert lines[0] == "next (NEW) compared to main (BASE)"
    headings = ["nodes", "BASE", "(ms)", "NEW", "(ms)", "ratio", "95", "%", "CI", "n", "BASE,", "NEW", "verdict"]
    assert lines[1].split() == headings
    assert re.fullmatch(r" +1 +29\.1 +30\.1 +1\.034 +1\.021 - 1\.047 +5 +slower *", lines[2])
    assert re.fullmatch(r" +2 .* 5, 4 +same *", lines[3])


def test_the_last_line_sums_up_and_names_margin_and_correction(make: Make) -> None:
    text = printed(make({}, {"verdict": "same"}, DOUBT, GONE))
    assert text.splitlines()[-1] == (
        "1 slower, 1 inconclusive, 1 same, 1 missing (margin 1 %, false discovery rate 1 % over 3 comparisons by "
        "Benjamini and Hochberg, 95 % CI)"
    )


def test_a_comparison_of_single_repetitions_is_none_that_the_correction_counts(make: Make) -> None:
    assert "over 1 comparison by" in printed(make({}, {**DOUBT, "p_value": None}))


def test_what_cannot_be_told_or_compared_is_listed_with_its_reason(make: Make) -> None:
    text = printed(make({}, DOUBT, GONE))
    assert "inconclusive nodes=2: not significant (p = 0.2); about 9 runs per side would suffice" in text
    assert "missing nodes=3: not measured in NEW (failed: it broke)" in text
    assert len(re.findall("29.1 ", text)) == 2


def test_a_comparison_of_nothing_has_no_table(make: Make) -> None:
    text = printed(make(GONE))
    assert "interval" not in text.splitlines()[1]
    assert "missing case-0: not measured in NEW" in text


def test_a_ratio_without_an_interval_leaves_it_empty(make: Make) -> None:
    text = printed(make({**DOUBT, "ratio_ci_low": None, "ratio_ci_high": None}))
    assert "nan" not in text
    assert "1.034" in text


def test_an_interval_over_many_orders_of_magnitude_fits_in_its_column(make: Make) -> None:
    text = printed(
        make({"ratio_ci_low": 1e-60, "ratio_ci_high": 1e60}, {"ratio_ci_low": 0.0, "ratio_ci_high": math.inf})
    )
    assert "0.000 - 1e+60" in text
    assert "0.000 - inf" in text


def test_metrics_are_named_with_their_units(make: Make) -> None:
    metric = {"quantity": "metric_rate_it_per_s", "verdict": "worse", "base_median": 10.0, "new_median": 9.0}
    text = printed(make({}, {**metric, "case": "case-0", "nodes": 1}, {**metric, **DOUBT}))
    assert re.search(r"time +29\.1 ms", text)
    assert re.search(r"rate \(it/s\) +10 +9 .* worse", text)
    assert "inconclusive nodes=3 rate (it/s): not significant" in text


def test_the_time_of_a_command_is_its_wall_time_as_in_a_report(make: Make) -> None:
    command = {"framework": "command", "probed_steps": None, "case": "case-0", "nodes": 1}
    rate = {"quantity": "metric_rate_it_per_s", "verdict": "worse", "base_median": 10.0, "new_median": 9.0}
    found = make(command, {**command, **rate})
    assert re.search(r"wall time +29\.1 ms", printed(found))
    assert [test.get("name") for test in suite(found, set()).iter("testcase")] == [
        "case-0 wall time",
        "case-0 rate (it/s)",
    ]


def test_only_the_first_rows_are_shown_and_it_is_said_how_many_more_there_are(make: Make) -> None:
    text = printed(make(*[{} for _ in range(5)], *[DOUBT for _ in range(4)]), top=3)
    assert len(re.findall("29.1 ", text)) == 3
    assert re.findall(r"and (\d) more", text) == ["6", "1"]


def test_other_machines_and_versions_are_told(make: Make) -> None:
    settings = {
        "machines": {"cpu_model": ("old", "new")},
        "versions": {"framework_version": ("2.12", "2.13")},
        "settings": {"OMP_NUM_THREADS": ("not set", "1")},
        "warnings": ["NEW: it is late"],
    }
    text = printed(make({}, **settings))
    assert "warning: cpu_model is old in BASE and new in NEW: the ratios also compare the machines" in text
    assert "framework_version: 2.12 in BASE, 2.13 in NEW" in text
    assert "warning: OMP_NUM_THREADS is not set in BASE and 1 in NEW: the ratios also compare the settings" in text
    assert "warning: NEW: it is late" in text


@pytest.mark.parametrize("data", ["[red]", "[/red]", ":warning: x", "C:\\"])
def test_data_is_printed_as_it_is(make: Make, data: str) -> None:
    text = printed(make({"param_note": data}, {**GONE, "reason": data}, base=data))
    assert f"compared to {data} (BASE)" in text
    assert re.search(rf"{re.escape(data)} +29\.1 ", text)
    assert f"note=a: {data}" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_eighty_columns_are_enough(make: Make, width: int) -> None:
    lines = printed(make({}, {"batch_size": 128}), width=width).splitlines()
    table = [line for line in lines if " - " in line and "n=" not in line]
    assert len(table) == 2
    assert max(map(len, table)) <= width


def suite(comparison: Comparison, failing: set[str]) -> ElementTree.Element:
    root = ElementTree.fromstring(comparison_junit(comparison, CANDIDATES, METRICS, failing))  # noqa: S314 - written by us
    (found,) = root
    return found


def test_each_comparison_is_a_test_and_only_a_verdict_of_same_or_faster_passes(make: Make) -> None:
    rows = [{}, {"verdict": "same"}, {"verdict": "faster"}, DOUBT, GONE, {"verdict": "not compared", "ratio": None}]
    found = suite(make(*rows), {"slower"})
    counts = {name: found.get(name) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "6", "failures": "1", "skipped": "3", "errors": "0"}
    assert [[child.tag for child in test] for test in found.iter("testcase")] == [
        ["failure"],
        [],
        [],
        ["skipped"],
        ["skipped"],
        ["skipped"],
    ]


def test_what_fails_can_be_chosen(make: Make) -> None:
    found = suite(make({}, DOUBT, GONE), {"inconclusive", "missing"})
    assert [test[0].tag for test in found.iter("testcase")] == ["skipped", "failure", "failure"]


def test_a_failure_says_what_was_measured(make: Make) -> None:
    test = next(suite(make({}, {}), {"slower"}).iter("testcase"))
    said = "slower: 29.1 ms in BASE, 30.1 ms in NEW, ratio 1.034 (1.021 - 1.047)"
    assert (test.get("classname"), test.get("name")) == ("study", "case-0 nodes=1 step time")
    assert float(test.get("time", "")) == pytest.approx(0.0301)
    assert (test[0].get("message"), test[0].text, test[0].get("type")) == (said, said, "slower")


def test_what_xml_cannot_hold_does_not_break_it(make: Make) -> None:
    broken = {**GONE, "reason": "\x1b[31m<&\"'\x00\ufffe it broke"}
    test = next(suite(make(broken), {"missing"}).iter("testcase"))
    assert test[0].text == "missing: \ufffd[31m<&\"'\ufffd\ufffd it broke"


def test_json_has_the_rule_the_counts_and_every_row(make: Make) -> None:
    document = json.loads(comparison_json(make({}, GONE, versions={"framework_version": ("1", "2")})))
    assert (document["base"], document["new"], document["margin"]) == ("main", "next", 0.01)
    assert document["correction"] == "Benjamini-Hochberg"
    assert document["verdicts"] == {"slower": 1, "missing": 1}
    assert document["differing"] == {"framework_version": ["1", "2"]}
    first, second = document["comparisons"]
    assert (first["ratio"], first["base_runs"], first["verdict"]) == (1.034, 5, "slower")
    assert (second["ratio"], second["p_value"], second["runs_needed"]) == (None, None, None)


def test_json_knows_no_infinity(make: Make) -> None:
    (row,) = json.loads(comparison_json(make({"ratio_ci_low": 0.0, "ratio_ci_high": math.inf})))["comparisons"]
    assert (row["ratio_ci_low"], row["ratio_ci_high"]) == (0, None)
