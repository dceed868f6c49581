"""From results to what the page says of them, whatever the results are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.quantities import MEMORY, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.results import Results
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.figures import figures_of
from hpcbench.report.html import build_page, large_sweeps
from hpcbench.report.html.build_page import Origin, page_of
from hpcbench.report.html.page_model import BEHIND, BEST, WITHIN_NOISE, Column, Command, Headline, Page
from hpcbench.report.html.render import render
from hpcbench.report.text.insights import insights
from tests.report.html.test_page import HOSTILE, Read
from tests.report.made import repetitions_of, results
from tests.report.synthetic_results import shape

pytestmark = pytest.mark.integration

RATE = Quantity("metric_rate_it_per_s", "rate", "it/s", more_is_better=True)
COMMANDS: dict[str, Any] = {
    "framework": "command",
    **dict.fromkeys(("model", "task", "dtype", "batch_size", "parameter_count", "flops_per_item", "items_per_step")),
}


ORIGIN = Origin(
    ("LSTM on CPUs; study-1 on cluster, planned 2026-11-22",),
    ("1 core-hour",),
    (Command("hpcbench sweep --from study-1", "again"),),
    datetime(2026, 11, 22, tzinfo=timezone.utc),
)


def said(found: Results, *searched: Headline, figures: Iterable[Figure] = ()) -> Page:
    """The page, which can also be written."""
    page = page_of(found, figures, insights(found), ORIGIN, searched)
    assert len(render(page)) > 10_000
    return page


def drawn(found: Results) -> Page:
    """The same with its figures, which take most of the time."""
    return said(found, figures=figures_of(found))


def threads(*times: float, **columns: Any) -> Results:
    """Cases of 1, 2, ... threads that take so long."""
    return results(
        *(repetitions_of(place, time, intra_op_threads=place + 1, **columns) for place, time in enumerate(times))
    )


def columns_of(page: Page) -> dict[str, Column]:
    return {column.key: column for column in page.table.columns}


def values_of(page: Page, key: str) -> list[Any]:
    place = list(columns_of(page)).index(key)
    return [row[place] for row in page.table.rows]


def test_where_threads_were_set_in_several_ways_the_page_begins_with_what_that_gains() -> None:
    page = drawn(shape("threads by way"))
    first, *workloads = page.headlines
    assert first.about == "Threads by mode"
    assert first.sentence.startswith("Threads, dynamic over none: ")
    assert [detail.split(":")[0] for detail in first.details] == [
        "Threads, dynamic over best fixed",
        "Threads, best fixed over none",
    ]
    assert len(workloads) == 3, "one for each network"
    assert page.threads is not None
    assert "over none" not in page.threads.about


def test_what_a_search_has_found_is_the_only_answer() -> None:
    found = Headline(
        "intra_op_threads=1 is 1.20x [1.10, 1.30] faster than the default", "mlp training", text="gain  1.20x"
    )
    page = said(threads(0.4, 0.2), found)  # the other one leads among all that was measured
    assert page.headlines == (found,)
    assert page.notices[0].startswith("The tables below list all measurements of the search, including brief ones")
    assert {place.standing for ranking in page.rankings for place in ranking.places} == {BEHIND}
    assert said(shape("threads by way"), found).headlines == (found,)
    assert "search" not in "".join(said(threads(0.4, 0.2)).notices)


def test_the_page_answers_first_and_says_of_how_many_cases_and_repetitions() -> None:
    page = said(threads(0.4, 0.2, 0.2002))
    (answer,) = page.headlines
    assert answer.sentence.startswith("intra_op_threads=2 (160 samples/s) is 2.00x [")
    assert answer.about == "", "there is one workload"
    assert answer.details == ("3 cases; 95 % CI, n >= 6.",)
    assert page.title == "study: results"
    assert page.subtitle == ("LSTM on CPUs; study-1 on cluster, planned 2026-11-22",)
    assert page.notices == ()
    assert page.aggregates is None
    assert page.again.commands == (Command("hpcbench sweep --from study-1", "again"),)


def test_a_ranking_has_the_best_first_with_bars_of_the_quantity_and_what_is_as_good() -> None:
    (ranking,) = said(threads(0.4, 0.2, 0.2002)).rankings
    assert ranking.title == "mlp training float32 pytorch cpu, batch size 32, 100 parameters"
    assert [column.title for column in ranking.columns][:3] == ["intra op threads", "step time (ms)", "95 % CI"]
    assert all(column.numeric for column in ranking.columns)
    assert [place.cells[0] for place in ranking.places] == ["2", "3", "1"]
    assert [place.standing for place in ranking.places] == [BEST, WITHIN_NOISE, BEHIND]
    bars = [place.bar for place in ranking.places if place.bar]
    assert len(bars) == 3
    # The throughput of the last is half that of the first; the longest bar has room for its interval.
    assert bars[2].share / bars[0].share == pytest.approx(0.5)
    assert all(bar.low is not None and bar.high is not None and bar.low <= bar.share <= bar.high for bar in bars)
    assert max(bar.high or 0 for bar in bars) == 1
    assert ranking.note == ""


def test_a_ranking_of_many_says_how_many_more_there_are() -> None:
    page = said(threads(*(0.1 + number / 100 for number in range(12))))
    assert [len(ranking.places) for ranking in page.rankings] == [build_page.TOP]
    assert page.rankings[0].note == "and 2 more, in the table below"
    assert len(page.table.rows) == 12


def test_a_single_case_is_a_page_without_a_figure() -> None:
    page = drawn(threads(0.4))
    assert "no other case" in page.headlines[0].sentence
    assert page.headlines[0].details[0].startswith("1 case;")
    assert page.figures == ()
    assert page.insights == ()
    assert [place.standing for place in page.rankings[0].places] == [BEST]


def test_where_nothing_was_measured_the_page_says_so_and_why() -> None:
    page = drawn(results(*(repetitions_of(case, 0, status="failed", nodes=case + 1) for case in range(3))))
    assert page.headlines == (Headline("No results: all 3 cases failed.", details=("it broke",)),)
    assert (page.rankings, page.figures) == ((), ())
    assert page.notices == ("No case has results; see the failures below.",)
    (failure,) = page.failures
    assert (failure.status, failure.reason, failure.count) == ("failed", "it broke", 3)
    assert failure.cases == ("nodes=1", "nodes=2", "nodes=3")
    assert page.trust.facts[0].value == "0 completed of 3"
    assert page.machines[0].name == "cluster: a CPU"
    assert [row[0] for row in page.table.rows] == [1, 2, 3]


def test_a_measured_case_that_failed_is_not_called_unmeasured() -> None:
    page = said(results(repetitions_of(0, 0.1, status="failed")))
    assert [headline.sentence for headline in page.headlines] == ["No results: the only case failed."]
    statuses = ("failed", "timeout", "failed")
    page = said(results(*(repetitions_of(n, 0.1, status=each, nodes=n + 1) for n, each in enumerate(statuses))))
    expected = "No results: none of 3 cases completed (2 failed, 1 timeout)."
    assert [headline.sentence for headline in page.headlines] == [expected]


def test_each_kind_of_work_has_its_answer_and_its_ranking() -> None:
    page = said(results(repetitions_of(0, 0.2, model="mlp"), repetitions_of(1, 0.3, model="lstm")))
    assert [answer.about for answer in page.headlines] == ["mlp", "lstm"]
    assert [len(ranking.places) for ranking in page.rankings] == [1, 1]


def test_very_many_kinds_of_work_are_in_the_table_and_the_page_says_so() -> None:
    cases = (
        repetitions_of(2 * case + place, 0.2, parameter_count=case, nodes=1 + place, noise=[1.0])
        for case in range(14)
        for place in range(2)
    )
    page = drawn(results(*cases))
    assert len(page.rankings) == build_page.MAX_WORKS
    assert page.notices == (
        "Rankings show the first 12 of 14 workloads; the table below has all cases.",
        "Workloads are ranked separately. They differ in: parameter_count.",
    )
    assert len(page.table.rows) == 28


def test_workloads_with_one_case_share_a_table() -> None:
    models = (repetitions_of(case, 0.2, model=f"timm/net{case}", parameter_count=case) for case in range(14))
    page = said(results(*models, repetitions_of(14, 0.4, model="lstm", task="inference")))
    assert [(ranking.title, len(ranking.places)) for ranking in page.rankings] == [
        ("lstm inference float32 pytorch cpu, batch size 32, 100 parameters", 1),
        ("study: training float32 pytorch cpu, batch size 32, one case per workload", 14),
    ]
    assert [column.title for column in page.rankings[1].columns] == [
        *("model", "step time (ms)", "95 % CI", "images/s", "n")
    ]
    assert not [place for place in page.rankings[1].places if place.bar or place.standing]
    assert [answer.about for answer in page.headlines] == ["lstm inference"]
    pair = (repetitions_of(place, 0.2, model=f"timm/net{place}") for place in range(2))
    assert said(results(*pair)).headlines[0].sentence == ("No comparison: each workload has one case.")


def test_models_that_differ_only_in_size_are_identified_by_it() -> None:
    models = (repetitions_of(case, 0.2, parameter_count=1000 + case) for case in range(2))
    (ranking,) = said(results(*models)).rankings
    assert ranking.columns[0].title == "parameter count"
    assert [place.cells[0] for place in ranking.places] == ["1000", "1001"]


def test_several_sweeps_are_told_apart() -> None:
    cases = (repetitions_of(0, time, sweep=name, experiment=name) for name, time in (("one", 0.2), ("two", 0.4)))
    page = said(results(*cases))
    assert page.title == "one, two: results"
    assert page.rankings[0].columns[0].title == "sweep"
    assert values_of(page, "sweep") == ["one", "two"]


def test_commands_are_ranked_by_their_metric_with_its_unit() -> None:
    cases = [
        repetitions_of(place, 1.0, **COMMANDS, command=f"./bench {place}", **{RATE.column: rate})
        for place, rate in enumerate((10.0, 20.0))
    ]
    page = said(results(*cases, quantity=RATE, metrics=[RATE]))
    assert page.headlines[0].sentence.startswith("command=./bench 1 (20 it/s) is 2.00x [2.00, 2.00] better than")
    assert [heading.title for heading in page.rankings[0].columns][:2] == ["command", "rate (it/s)"]
    assert [place.bar.share for place in page.rankings[0].places if place.bar] == [1.0, 0.5]
    column = columns_of(page)[RATE.column]
    assert (column.kind, column.unit, column.shown) == ("number", "it/s", True)


def test_commands_that_measure_nothing_are_ranked_by_time() -> None:
    cases = [repetitions_of(place, place + 1.0, **COMMANDS, command=f"./bench {place}") for place in range(2)]
    page = drawn(results(*cases))
    assert [place.cells[0] for place in page.rankings[0].places] == ["./bench 0", "./bench 1"]
    assert page.headlines[0].sentence.startswith("No case is faster than the first case, command=./bench 0 (1 s)")
    assert [place.standing for place in page.rankings[0].places] == [BEST, BEHIND]
    assert len(page.figures) == 1


def test_the_time_to_an_accuracy_is_ranked_with_its_epochs() -> None:
    learning = {"task": "time_to_accuracy", "target_accuracy": 0.9, "items_per_step": None}
    cases = [
        repetitions_of(place, 60.0 * (place + 1), batch_size=2**place, epochs=3 + place, accuracy=0.91, **learning)
        for place in range(2)
    ]
    (ranking,) = said(results(*cases)).rankings
    titles = [heading.title for heading in ranking.columns]
    assert {"epochs", "accuracy"} <= set(titles)
    assert ranking.places[0].cells[titles.index("epochs")] == "3"
    assert ranking.places[0].standing == BEST


def test_concurrent_models_are_ranked_by_their_number_per_minute_not_by_the_time_of_the_last() -> None:
    """Two of four models in 50 s are fewer per minute than all four in 60 s."""
    learning = {"task": "time_to_accuracy", "target_accuracy": 0.9, "items_per_step": None, "models": 4}
    rates = {"models_trained": [2, 4], "models_per_minute": [2.4, 4.0], "epochs": [3, 3], "accuracy": [0.9, 0.9]}
    times = [50.0, 60.0]
    cases = [
        repetitions_of(
            place, time_s, batch_size=2**place, **learning, **{name: each[place] for name, each in rates.items()}
        )
        for place, time_s in enumerate(times)
    ]
    page = said(results(*cases))
    (ranking,) = page.rankings
    titles = [heading.title for heading in ranking.columns]
    assert [place.cells[titles.index("training rate (models/min)")] for place in ranking.places] == ["4.00", "2.40"]
    assert [place.cells[titles.index("speedup")] for place in ranking.places] == ["1.67x", "1.00x"]
    assert page.headlines[0].sentence.startswith("batch_size=2 (4 models/min) is 1.67x")


def test_what_is_no_number_is_not_known_and_the_page_is_written() -> None:
    found = threads(0.4, 0.2, 0.3)
    found.cases.loc[0, [*THROUGHPUT.limits, "speedup"]] = [np.nan, np.inf, -np.inf]
    found.cases.loc[1, [*THROUGHPUT.limits]] = [-np.inf, np.inf]
    page = drawn(found)
    first, second, third = (place.bar for place in page.rankings[0].places)
    assert first is not None
    assert second is not None
    assert first.low is None, "one limit alone is no interval"
    assert all(
        0 <= value <= 1 for bar in (first, second, third) if bar for value in (bar.share, bar.low, bar.high) if value
    )
    assert not {"NaN", "Infinity"} & set(re.findall(r"\w+", Read(render(page)).inside("script")[0]))


@pytest.mark.parametrize("values", [[0.0, 0.0], [math.nan, math.nan], [-1.0, -2.0]], ids=str)
def test_where_there_is_nothing_to_compare_there_are_no_bars(values: list[float]) -> None:
    found = results(*(repetitions_of(place, 0.2, nodes=place + 1) for place in range(2)), quantity=MEMORY)
    found.cases[MEMORY.column] = values
    (ranking,) = said(found).rankings
    assert [place.bar for place in ranking.places] == [None, None]


def test_fifty_axes_are_a_page() -> None:
    user_parameters = [{f"param_axis_{number}": place * number for number in range(1, 51)} for place in range(3)]
    page = drawn(results(*(repetitions_of(place, 0.2 + place, **tag) for place, tag in enumerate(user_parameters))))
    assert sum(key.startswith("param_axis_") and column.shown for key, column in columns_of(page).items()) == 50
    assert columns_of(page)["param_axis_7"].title == "axis 7"
    assert len(page.figures) == 1


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 200], ids=ascii)
def test_any_text_is_shown_as_it_is(text: str) -> None:
    cases = (
        repetitions_of(0, 0.2, param_note=text, experiment=text, cpu_model=text, warnings=text),
        repetitions_of(1, 0.2, param_note=f"{text}!", experiment=text, cpu_model=text),
        repetitions_of(2, 0, status="failed", param_note="failed", experiment=text, error=text, log=text),
    )
    page = drawn(results(*cases))
    assert page.title == f"{text}: results"
    assert {place.cells[0] for place in page.rankings[0].places} == {text, f"{text}!"}
    assert values_of(page, "param_note") == [text, f"{text}!", "failed"]
    assert page.failures[0].reason == page.failures[0].log == text
    assert page.trust.notes == ("1 core-hour", f"{text} (note={text})")
    assert page.machines[0].name == f"cluster: {text}"


def test_failures_are_told_by_why_and_only_the_first_of_very_many() -> None:
    failing = [repetitions_of(case, 0, status="failed", nodes=case + 1) for case in range(1, 31)]
    reasons = ["".join(chr(ord("a") + int(digit)) for digit in str(case)) for case in range(31, 91)]  # ca, cb, ...
    others = [
        repetitions_of(case, 0, status="timeout", nodes=case + 1, error=reason)
        for case, reason in enumerate(reasons, 31)
    ]
    page = said(results(repetitions_of(0, 0.2, nodes=1), *failing, *others))
    assert [(failure.count, len(failure.cases)) for failure in page.failures][:2] == [
        (30, build_page.MAX_NAMED),
        (1, 1),
    ]
    assert len(page.failures) == build_page.MAX_FAILURES + 1
    assert page.failures[-1].reason == "11 more reasons; see --csv"
    assert sum(failure.count for failure in page.failures) == 90


def test_how_far_to_trust_it_is_counted_in_repetitions() -> None:
    rows = repetitions_of(0, 0.2)
    rows[0] |= {"interference": "interference", "interference_causes": "cpu"}
    rows[1] |= {"steady": False}
    page = said(results(rows, repetitions_of(1, 0, status="failed", nodes=2)))
    facts = {fact.name: fact.value for fact in page.trust.facts}
    assert facts == {
        "runs": "6 completed of 7",
        "with interference": "1 of 6",
        "not steady after warm-up": "1 of 6",
    }
    assert page.trust.notes[0] == "1 core-hour"
    assert [rule.number for rule in page.trust.rules] == list(range(1, 13))
    broken = [rule for rule in page.trust.rules if not rule.kept]
    assert 2 in [rule.number for rule in broken], "a case is left out of the ranking"
    assert all(rule.said for rule in page.trust.rules)


def test_machines_and_versions_are_named_once_each_with_all_that_they_were() -> None:
    known = [
        repetitions_of(0, 0.2, nodes_used="n1,n2", kernel="6.1", gpu_model="H100"),
        repetitions_of(1, 0.2, nodes=2, nodes_used="n2,n3", kernel="6.2", gpu_model=None),
        repetitions_of(2, 0.2, nodes=3, cpu_model="another", cpu_governor=None, cpu_turbo=None),
        repetitions_of(3, 0.2, nodes=4, cpu_model=None, hpcbench_version="0.2.0"),
    ]
    page = said(results(*known))
    first, second = page.machines
    assert first.name == "cluster: a CPU"
    assert {fact.name: fact.value for fact in first.facts} == {
        "GPUs": "H100",
        "nodes": "n1, n2, n3",
        "kernel": "6.1, 6.2",
        "CPU frequency governor": "performance",
        "turbo": "off",
    }
    assert [fact.name for fact in second.facts] == ["nodes", "kernel"]
    assert {fact.name: fact.value for fact in page.again.versions} == {
        "hpcbench": "0.1.0; 0.2.0",
        "git commit": "f0cfe52",
        "software": "python 3.11.2, torch 2.13.0",
    }


@cache
def measured_columns() -> dict[str, Column]:
    measured = {
        "energy_measured_j": 12.0,
        "energy_measured_j_per_item": 0.1,
        "energy_scope": "gpu",
        "learning_rate": 0.1,
    }
    cases = [repetitions_of(0, 0.2, param_when_s="noon", **measured), repetitions_of(1, 0.4, nodes=2, **measured)]
    return columns_of(said(results(*cases)))


@pytest.mark.parametrize(
    ("key", "kind", "unit"),
    [
        ("time_median_s", "time", ""),
        ("first_step_s", "time", ""),
        ("peak_memory_bytes", "bytes", ""),
        ("throughput_items_per_s", "number", "samples/s"),
        ("throughput_items_per_s_ci_low", "number", "samples/s"),
        ("time_ci_low_s", "time", ""),
        ("speedup", "number", ""),
        ("energy_measured_j", "number", "J"),
        ("energy_measured_j_per_item", "number", "J/item"),
        ("energy_kwh_per_million_items", "number", "kWh/million items"),
        ("energy_kwh_per_million_items_ci_low", "number", "kWh/million items"),
        ("learning_rate", "number", ""),
        ("param_when_s", "text", ""),
        ("framework", "text", ""),
        ("git_dirty", "text", ""),
    ],
)
def test_a_column_of_the_table_is_shown_in_its_unit(key: str, kind: str, unit: str) -> None:
    column = measured_columns()[key]
    assert (column.kind, column.unit) == (kind, unit)


def test_the_table_shows_first_what_tells_cases_apart_and_leaves_out_what_nobody_has() -> None:
    page = said(threads(0.2, 0.4))
    assert next(iter(columns_of(page))) == "intra_op_threads"
    shown = [key for key, column in columns_of(page).items() if column.shown]
    assert shown[:2] == ["intra_op_threads", "status"]
    assert list(columns_of(page))[: len(shown)] == shown
    assert "gpu_model" not in columns_of(page)
    assert "case_index" not in columns_of(page)
    assert all(type(value) in (int, float, str, bool, type(None)) for row in page.table.rows for value in row)
    assert page.table.title == "All cases"


def test_a_quantity_that_is_asked_for_is_shown() -> None:
    found = results(*(repetitions_of(case, 0.2, nodes=case + 1) for case in range(2)), quantity=TIME)
    assert columns_of(said(found))["time_median_s"].shown


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_sweeps, "MAX_ROWS", 6)


@pytest.mark.usefixtures("small_pages")
def test_of_too_many_cases_the_table_has_the_best_of_each_kind_and_all_are_told_by_axis() -> None:
    of_mlp = [repetitions_of(case, 0.1 * (case + 1), nodes=case + 1, model="mlp") for case in range(6)]
    of_lstm = [repetitions_of(case + 6, 0.1 * (case + 1), nodes=case + 1, model="lstm") for case in range(2)]
    failed = [repetitions_of(8, 0, status="failed", nodes=7, model="mlp")]
    page = said(results(*of_mlp, *of_lstm, *failed))
    assert page.table.title == "The best 6 of 9 cases"
    assert list(zip(values_of(page, "model"), values_of(page, "nodes"), strict=True)) == [
        ("mlp", 1),
        ("mlp", 2),
        ("mlp", 3),
        ("mlp", 4),
        ("lstm", 1),
        ("lstm", 2),
    ]
    assert page.notices[0].startswith("The table has the best 6 of 9 cases")
    assert page.notices[1:] == ("Workloads are ranked separately. They differ in: model.",)
    assert page.aggregates is not None
    assert page.aggregates.title == "All 9 cases by axis"
    of_mlp_too, of_lstm_too = page.aggregates.tables
    assert of_mlp_too.title == "mlp training float32 pytorch cpu, batch size 32, 100 parameters: 7 cases"
    assert [heading.title for heading in of_lstm_too.columns] == [
        *("axis", "value", "cases", "measured", "failed or skipped"),
        *(f"{each} throughput (sequences/s)" for each in ("best", "lower quartile", "median", "upper quartile")),
    ]
    assert [place.cells for place in of_lstm_too.places] == [
        ("nodes", "1", "1", "1", "0", "320", "320", "320", "320"),
        ("", "2", "1", "1", "0", "160", "160", "160", "160"),
    ]
    assert of_mlp_too.places[-1].cells == ("", "7", "1", "0", "1", "-", "-", "-", "-")
    assert of_mlp_too.places[-1].bar is None
    assert [place.bar.share for place in of_lstm_too.places if place.bar] == [1.0, 0.5]


@pytest.mark.usefixtures("small_pages")
def test_what_failed_stands_in_the_table_where_there_is_room() -> None:
    cases = [repetitions_of(case, 0.1, nodes=case + 1, status="failed") for case in range(7)]
    page = said(results(*cases, repetitions_of(7, 0.1, nodes=8)))
    assert values_of(page, "nodes") == [8, 1, 2, 3, 4, 5]
    assert page.aggregates is not None
    assert [table.title for table in page.aggregates.tables] == [
        "mlp training float32 pytorch cpu, batch size 32, 100 parameters: 8 cases"
    ]


@pytest.mark.usefixtures("small_pages")
def test_where_all_of_too_many_cases_failed_they_are_still_told_by_axis() -> None:
    page = said(results(*(repetitions_of(case, 0.1, nodes=case + 1, status="failed") for case in range(7))))
    assert page.aggregates is not None
    assert [table.title for table in page.aggregates.tables] == ["Not measured, workload unknown: 7 cases"]
    assert len(page.table.rows) == 6


@pytest.mark.usefixtures("small_pages")
def test_values_of_axes_are_texts_like_any_other() -> None:
    cases = [repetitions_of(place, 0.1, param_note=text) for place, text in enumerate(HOSTILE)]
    page = said(results(*cases))
    assert page.aggregates is not None
    assert {place.cells[1] for place in page.aggregates.tables[0].places} == set(HOSTILE)


def test_a_page_without_a_table_of_axes_has_no_such_section() -> None:
    assert 'id="aggregates"' not in render(said(threads(0.2, 0.4)))


def test_no_column_of_the_table_is_made_of_what_pandas_alone_knows() -> None:
    found = threads(0.2, 0.4)
    found.cases["param_day"] = pd.to_datetime(["2026-01-01", None])
    assert values_of(said(found), "param_day") == ["2026-01-01 00:00:00", None]
