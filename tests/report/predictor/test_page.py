"""The page of predictions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hpcbench.predict.results.state import State
from hpcbench.report.html.render import render
from hpcbench.report.predictor.chart import figures_of_predictions
from hpcbench.report.predictor.page import page_of_predictions
from hpcbench.report.predictor.text.summary import Wanted
from tests.report.predictor.made_predictions import made_predictions, question

pytest.importorskip("altair")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_page_has_recommendations_tables_and_all_values() -> None:
    made = made_predictions()
    page = page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON)
    assert [each.about for each in page.headlines] == ["all 2 cases", "batch_size=8", "batch_size=16"]
    assert page.headlines[1].sentence.startswith("Inconclusive: l40s may be as fast as h100-sxm")
    assert any("needs least energy" in line for line in page.headlines[1].details)
    assert page.aggregates is not None
    assert [len(each.places) for each in page.aggregates.tables] == [3, 6, 3, 3, 6, 3, 3]
    assert len(page.table.rows) == 16
    assert any("unknown-device" in line for line in page.notices)


def test_it_renders() -> None:
    made = made_predictions(question(1))
    text = render(page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON))
    for words in ("two-batches: predictions", "90 % PI", "h100-sxm", "model: fleet.json", "Energy over time"):
        assert words in text


def test_without_javascript_the_page_names_the_command_of_its_table() -> None:
    text = render(page_of_predictions(made_predictions(question(1)), Wanted(), [], NOON))
    assert "hpcbench predict ... --csv FILE writes the same table." in text
    assert "hpcbench report" not in text


def test_names_from_files_are_no_markup() -> None:
    made = replace(made_predictions(question(1)), experiment="</script><img src=x>", model="<img src=x>")
    text = render(page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON))
    assert "img src=x" in text
    assert "<img src=x>" not in text


def test_the_first_table_is_over_all_cases() -> None:
    made = made_predictions(question(2, devices=("l40s", "h100-sxm")))
    page = page_of_predictions(made, Wanted(), [], NOON)
    assert page.aggregates is not None
    assert page.headlines[0].about == "all 2 cases"
    assert page.headlines[0].sentence == ("Inconclusive in all cases. Lowest predicted time: h100-sxm in 2 of 2 cases.")
    assert page.headlines[0].details[:2] == (
        "Lowest predicted energy: l40s in 2 of 2 cases; conclusive in all.",
        "Inconclusive in all cases. Lowest predicted cost: h100-sxm in 2 of 2 cases.",
    )
    first = page.aggregates.tables[0]
    assert first.title == "All devices over 2 cases"
    assert first.note.startswith("Ratios are geometric means")
    assert [row.cells[0] for row in first.places] == ["h100-sxm", "l40s"]


def test_tables_of_cases_have_default_best_and_asked_states() -> None:
    slow, slower = State(clock_mhz=960), State(clock_mhz=900)
    made = made_predictions(question(1, (slow, slower), ("l40s",)))
    for states, expected in (
        ((), ["l40s", "l40s at 960\N{NO-BREAK SPACE}MHz"]),
        (("900 MHz",), ["l40s", "l40s at 960\N{NO-BREAK SPACE}MHz", "l40s at 900\N{NO-BREAK SPACE}MHz"]),
    ):
        page = page_of_predictions(made, Wanted(), [], NOON, states)
        assert page.aggregates is not None
        assert [row.cells[0] for row in page.aggregates.tables[0].places] == expected


def test_lines_that_all_cases_share_are_on_the_page_once() -> None:
    made = made_predictions(question(2, devices=("l40s", "h100-sxm")))
    is_one = (made.results["case"] == "c2") & (made.results["device"] == "l40s")
    made = replace(made, results=made.results.assign(remarks=[("a remark" if each else "") for each in is_one]))
    first, *cases = page_of_predictions(made, Wanted(), [], NOON).headlines
    based_on = [
        "Based on: l40s: measured device: 60 of 312 measurements of 5 devices; power measured on it.",
        "Based on: h100-sxm: device not measured: 312 measurements of 5 devices; power from 2 other devices.",
    ]
    assert list(first.details[2:]) == based_on
    assert [[line for line in each.details if not line.startswith(("Incon", "l40s needs"))] for each in cases] == [
        [],
        ["l40s: a remark."],
    ]
    (alone,) = page_of_predictions(
        made_predictions(question(1, devices=("l40s", "h100-sxm"))), Wanted(), [], NOON
    ).headlines
    assert alone.details[-2:] == tuple(based_on)
