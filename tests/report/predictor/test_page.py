"""The page of predictions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hpcbench.report.html.render import render
from hpcbench.report.predictor.chart import figures_of_predictions
from hpcbench.report.predictor.page import page_of_predictions
from hpcbench.report.text.predictions.summary import Wanted
from tests.report.predictor.made_predictions import made_predictions, question

pytest.importorskip("altair")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_the_page_has_recommendations_tables_and_all_values() -> None:
    made = made_predictions()
    page = page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON)
    assert [each.about for each in page.headlines] == ["batch_size=8", "batch_size=16"]
    assert page.headlines[0].sentence.startswith("Inconclusive: l40s may be as fast as h100-sxm")
    assert any("needs least energy" in line for line in page.headlines[0].details)
    assert page.aggregates is not None
    assert [len(each.places) for each in page.aggregates.tables] == [6, 6]
    assert len(page.table.rows) == 16
    assert any("unknown-device" in line for line in page.notices)


def test_it_renders() -> None:
    made = made_predictions(question(1))
    text = render(page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON))
    for words in ("two-batches: predictions", "90 % PI", "h100-sxm", "model: fleet.json", "Energy over time"):
        assert words in text


def test_the_first_table_is_over_all_cases() -> None:
    made = made_predictions(question(2, devices=("l40s", "h100-sxm")))
    page = page_of_predictions(made, Wanted(), [], NOON)
    assert page.aggregates is not None
    first = page.aggregates.tables[0]
    assert first.title.startswith("All devices over 2 cases. ")
    assert [row.cells[0] for row in first.places] == ["h100-sxm", "l40s"]
