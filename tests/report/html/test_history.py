"""The page of a history: its headlines, its changes, and every value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import cache

import pytest

from hpcbench.analysis.cases.quantities import MEMORY, THROUGHPUT, Quantity
from hpcbench.report.charts.components import Figure
from hpcbench.report.charts.history import figures_of_history
from hpcbench.report.html import history, page_model
from hpcbench.report.html.history import page_of_history
from hpcbench.report.html.render import render
from hpcbench.report.terminal.history import History
from tests.report.html.test_page import HOSTILE, Read, data_of
from tests.report.synthetic_histories import made_up, without_values

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


def page(made: History, figures: Iterable[Figure] = ()) -> page_model.Page:
    return page_of_history(made, figures, NOW)


def drawn(made: History) -> page_model.Page:
    """The same with its figure, which takes most of the time."""
    return page(made, figures_of_history(made))


def tables(made: page_model.Page) -> dict[str, page_model.Ranking]:
    assert made.aggregates
    return {table.title: table for table in made.aggregates.tables}


def test_the_answer_is_the_latest_change_of_each_case_and_how_many_have_none() -> None:
    said = page(made_up(60, 4, steps=((0.2, 1.3), (0.6, 0.9)))).headlines
    assert [each.about for each in said[:2]] == ["batch_size=8", "batch_size=32"]
    for each in said[:2]:
        assert re.fullmatch(r"1\.11x \[1\.1\d, 1\.1\d\] faster since 2026-\d\d-\d\d", each.sentence)
    assert said[0].details == ("Also changed: torch 2.5.0 -> 2.6.0.",)
    assert [each.sentence for each in said[2:]] == ["No change in 60 sweeps of 2 other cases"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (made_up(30, 1, steps=()), "No change in 30 sweeps of 1 case"),
        (made_up(4, 2), "Too few sweeps to detect changes: a case needs 10."),
        (without_values(made_up(30, 1)), "Too few sweeps to detect changes: a case needs 10."),
    ],
    ids=["no change", "too few", "no value"],
)
def test_without_a_change_that_is_the_answer(made: History, said: str) -> None:
    found = page(made)
    assert [each.sentence for each in found.headlines] == [said]
    assert list(tables(found)) == ["Cases"]


def test_more_answers_than_can_be_read_are_counted() -> None:
    said = [each.sentence for each in page(made_up(60, 30)).headlines]
    assert said[6:] == ["9 more cases changed: see the changes below", "No change in 60 sweeps of 15 other cases"]


def test_the_changes_have_the_numbers_of_the_figure_the_latest_first() -> None:
    changes = tables(page(made_up(60, 2, steps=((0.2, 1.3), (0.6, 0.9)))))["Changes, the latest first"]
    assert [place.cells[:4] for place in changes.places] == [
        ("2", "2026-02-06", "nightly-0036", "batch_size=8"),
        ("1", "2026-01-13", "nightly-0012", "batch_size=8"),
    ]
    assert changes.places[0].cells[-1] == "torch 2.5.0 -> 2.6.0"


def test_the_table_has_every_value_the_latest_first() -> None:
    table = page(made_up(12, 2)).table
    assert (table.title, table.of, table.file) == ("All values", "value", "history.csv")
    first = dict(zip((column.key for column in table.columns), table.rows[0], strict=True))
    assert (first["sweep"], first["started_at"]) == ("nightly-0011", "2026-01-12 03:00:08")
    assert len(table.rows) == 24
    assert "case" in [column.title for column in table.columns if column.shown]
    assert "case" not in [column.title for column in page(made_up(12, 1)).table.columns if column.shown]


def test_a_table_that_is_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_ROWS", 20)
    table = page(made_up(12, 2)).table
    assert table.title == "The latest 20 of 24 values"
    assert len(table.rows) == 20


@pytest.mark.parametrize(
    ("quantity", "kind", "unit"),
    [
        (THROUGHPUT, "number", "samples/s"),
        (MEMORY, "bytes", ""),
        (Quantity("metric_rate_it_per_s", "rate", "it/s"), "number", "it/s"),
    ],
)
def test_values_have_their_units(quantity: Quantity, kind: str, unit: str) -> None:
    columns = {column.key: column for column in page(made_up(12, 1, quantity=quantity, first=100.0)).table.columns}
    assert (columns["value"].kind, columns["value"].unit) == (kind, unit)


@cache
def tags(name: str) -> list[str]:
    """Of a page of cases that differ in a tag that is called so."""
    return [tag for tag, _ in Read(render(drawn(made_up(12, 2, name=f"param_{name}")))).elements]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_text_in_data_makes_no_element(text: str) -> None:
    assert tags(text) == tags("plain")


def test_the_sections_are_answers_figures_changes_and_values() -> None:
    text = render(drawn(made_up(30, 2)))
    assert [attributes["id"] for attributes in Read(text).all("section")] == [
        "answer",
        "figures",
        "aggregates",
        "table",
    ]
    assert data_of(text)["file"] == "history.csv"
    assert '<a href="#aggregates">Changes</a>' in text
