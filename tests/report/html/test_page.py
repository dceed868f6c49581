"""The report page as text: one file, whatever is in the data."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from hpcbench.report.html.page_model import (
    Aggregates,
    Bar,
    Column,
    Command,
    DataQuality,
    Fact,
    Failure,
    Figure,
    Heading,
    Headline,
    Ranking,
    Reproduction,
    System,
    TableRow,
)
from hpcbench.report.html.render import render
from tests.report.pages import figure, page, table

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "]]>&lt;&#x3c;",
    "name " * 40,
    "\u202eesrever",
    "шаг 模型 🦀",
    "\u2028\u2029",
]


class Read(HTMLParser):
    """The elements of a page with their attributes, and the texts of those that hold nothing else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.inner: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inner = []

    def handle_data(self, data: str) -> None:
        if self.inner is not None:
            self.inner.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self.inner is not None:
            self.texts.append((tag, "".join(self.inner)))
        self.inner = None

    def all(self, *tags: str) -> Iterator[dict[str, str | None]]:
        return (attributes for tag, attributes in self.elements if tag in tags)

    def inside(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def data_of(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Read(text).inside("script")[0])
    return data


def rows_of(text: str) -> list[list[Any]]:
    """The rows of the table, as table.js puts them together."""
    data = data_of(text)
    columns = [
        each["of"] if "at" not in each else [each["of"][place] for place in each["at"] or [0] * data["count"]]
        for each in data["values"]
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def everywhere(text: str) -> Any:
    """A page that has this text wherever a text may come from data, but in titles of charts."""
    return page(
        title=text,
        subtitle=(text,),
        headlines=(Headline(text, text, (text,)), Headline(text)),
        notices=(text,),
        figures=(Figure("bars", text, text, text, figure().spec),),
        failures=(Failure(text, text, 9, (text,), text),),
        trust=DataQuality((Fact(text, text),), notes=(text,)),
        machines=(System(text, (Fact(text, text),)),),
        again=Reproduction((Command(text, text),), (Fact(text, text),)),
        table=table((text, 1.0), columns=(Column(text, text), Column("n", text, "number", text))),
    )


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_text_in_data_makes_no_element_and_no_attribute(text: str) -> None:
    hostile, plain = Read(render(everywhere(text))), Read(render(everywhere("plain")))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert [list(attributes) for _, attributes in hostile.elements] == [list(each) for _, each in plain.elements]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_text_in_data_reaches_the_scripts_as_it_is(text: str) -> None:
    assert rows_of(render(everywhere(text)))[0][0] == text


def test_characters_that_cannot_be_seen_are_shown() -> None:
    headlines = Read(render(page(headlines=(Headline("safe\u202ecod.exe\x00\x1b[31m"),)))).inside("bdi")
    assert "safe?cod.exe??[31m" in headlines


def test_half_a_character_does_not_keep_a_page_from_being_written() -> None:
    assert render(everywhere("broken \ud800")).encode()


def test_nothing_is_asked_of_a_network() -> None:
    read = Read(render(page()))
    assert not list(read.all("link", "img", "iframe", "object", "embed", "base"))
    assert all("src" not in attributes for attributes in read.all("script"))
    assert {attributes["href"][:1] for attributes in read.all("a") if attributes["href"]} == {"#"}


def test_the_policy_allows_the_scripts_and_styles_of_the_file_and_nothing_else() -> None:
    read = Read(render(page()))
    policy = next(a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    ours = read.inside("style") + read.inside("script")[1:]  # the first is data
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in ours]
    assert f"{rules['style-src']} {rules['script-src']}".split() == [f"'sha256-{each}'" for each in hashes]
    assert not [a for _, a in read.elements if "style" in a or any(name.startswith("on") for name in a)]


def test_headings_follow_one_another_without_a_gap() -> None:
    levels = [int(tag[1]) for tag, _ in Read(render(page())).elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - level <= 1 for level, below in itertools.pairwise(levels))


def test_the_sections_are_in_the_order_of_reading_and_the_first_answers() -> None:
    read = Read(render(page()))
    sections = [attributes["id"] for attributes in read.all("section")]
    assert sections == ["answer", "ranking", "figures", "table", "failures", "trust", "machines", "again"]


def test_every_name_that_an_element_refers_to_is_there_once() -> None:
    read = Read(render(page(figures=(figure(1), figure(2)))))
    names = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(names) == len(set(names))
    for _, attributes in read.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key, names[0]) in names
        if (attributes.get("href") or "").startswith("#"):
            assert str(attributes["href"])[1:] in names


def test_sections_that_have_nothing_to_say_are_left_out() -> None:
    empty = page(
        headlines=(),
        notices=(),
        rankings=(),
        figures=(),
        failures=(),
        trust=DataQuality(),
        machines=(),
        again=Reproduction(),
        table=table(("a", "b", None, None, None, None)),
    )
    text = render(empty)
    assert [attributes["id"] for attributes in Read(text).all("section")] == ["answer", "table"]
    assert "No results: no case was measured" in text
    assert len(text) < 100_000, "a page without charts carries no Vega"


def test_a_number_that_javascript_would_round_stays_whole() -> None:
    columns = tuple(Column(name, name, "number") for name in "abcd")
    rows = rows_of(render(page(table=table((2**60 + 1, 0.1, math.nan, math.inf), columns=columns))))
    assert rows == [[str(2**60 + 1), 0.1, None, None]]


def test_a_text_column_takes_whatever_a_tag_holds() -> None:
    rows = rows_of(render(page(table=table((True,), (3,), (None,), columns=(Column("param_x", "x"),)))))
    assert rows == [["True"], ["3"], [None]]


def test_what_the_rows_have_in_common_is_written_once() -> None:
    columns = (Column("site", "site"), Column("kind", "kind"), Column("n", "n", "number"), Column("x", "x", "number"))
    rows = [("here", "odd" if number % 2 else None, number, number // 50) for number in range(100)]
    text = render(page(table=table(*rows, columns=columns)))
    assert data_of(text)["values"][0] == {"of": ["here"], "at": None}
    assert data_of(text)["values"][1] == {"of": [None, "odd"], "at": [0, 1] * 50}
    assert data_of(text)["values"][2] == {"of": list(range(100))}
    assert rows_of(text) == [list(row) for row in rows]


def test_what_all_cases_did_stands_before_the_table_of_some() -> None:
    places = (TableRow(("nodes", "1", "9"), Bar(0.5, 0.25, 1.0)), TableRow(("", HOSTILE[0], "3")))
    columns = (Heading("axis", numeric=False), Heading("value", numeric=False), Heading("cases"))
    tables = (Ranking("mlp: 12 cases", columns, places, bars="Quartiles"),)
    read = Read(render(page(aggregates=Aggregates("All 12 cases by axis", "Each once.", tables))))
    sections = [attributes["id"] for attributes in read.all("section")]
    assert sections[sections.index("table") - 1] == "aggregates"
    assert "#aggregates" in [attributes["href"] for attributes in read.all("a")]
    assert {"All 12 cases by axis", "mlp: 12 cases", "Quartiles", HOSTILE[0]} <= {text for _, text in read.texts}


def test_charts_share_the_data_that_they_have_in_common() -> None:
    data = data_of(render(page(figures=(figure(1), figure(2)))))
    assert list(data["datasets"]) == ["data-of-bars"]
    assert [chart["datasets"] for chart in data["charts"].values()] == [["data-of-bars"]] * 2
    assert not any("datasets" in chart["spec"] for chart in data["charts"].values())


def test_two_datasets_of_one_name_are_no_mistake_that_passes() -> None:
    other = figure(2, datasets={"data-of-bars": [{"framework": "mxnet", "rate": 1}]})
    with pytest.raises(ValueError, match="data-of-bars"):
        render(page(figures=(figure(1), other)))


def test_a_thousand_cases_with_forty_columns_and_twelve_charts_are_under_5_mb() -> None:
    columns = tuple(Column(f"column_{number}", f"column {number}", "number") for number in range(40))
    rows = [tuple(math.sqrt(row * 40 + number) for number in range(40)) for row in range(1000)]
    values = {"values": [{"framework": f"case {n}", "rate": math.sqrt(n)} for n in range(1000)]}
    figures = tuple(figure(number, data=values) for number in range(12))
    assert len(render(page(table=table(*rows, columns=columns), figures=figures)).encode()) < 5_000_000


def test_the_lines_of_an_answer_stand_as_on_a_terminal() -> None:
    read = Read(render(page(headlines=(Headline("b2 is best", text=f"gain  1.2x\n  {HOSTILE[0]}"),))))
    assert f"gain  1.2x\n  {HOSTILE[0]}" in read.inside("bdi")
