"""The table of the report page, in a real Chromium: sorted, filtered, searched, copied, downloaded."""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from hpcbench.report.html.page_model import Cell, Column
from hpcbench.report.text.numbers import duration, figure, memory
from tests.report.pages import page, table

pytestmark = pytest.mark.browser

Opened = Callable[..., Tab]


def column(tab: Tab, number: int) -> list[str]:
    """The texts of a column as it is shown."""
    texts: list[str] = tab.eval_on_selector_all(
        "#sheet tbody tr", "(rows, number) => rows.map((row) => row.cells[number].textContent)", number
    )
    return texts


def sort(tab: Tab, title: str) -> str | None:
    button = tab.get_by_role("button", name=title, exact=True)
    button.click()
    return button.locator("xpath=..").get_attribute("aria-sort")


def fill(tab: Tab, title: str, typed: str) -> list[str]:
    tab.get_by_label(f"Filter {title}", exact=True).fill(typed)
    return column(tab, 0)


def test_values_are_written_as_on_the_terminal(opened: Opened) -> None:
    numbers = [10 ** random.Random(number).uniform(-13, 16) for number in range(300)]
    halves = [1234.5, 1235.5, 0.00125, 12346.5, 12347.5, 999.5, 9999.5, 9999.4999, 0.9995, 1e15, 1e-5, 0.0001, 2.5e-8]
    numbers += [*halves, 0.0, 1.0, -12.345, -98765.4321, 86400.0, 2**53 + 2.0]
    columns = (Column("a", "a", "number"), Column("b", "b", "time"))
    rows: list[tuple[Cell, ...]] = [(value, abs(value)) for value in numbers]
    tab = opened(page(table=table(*rows, columns=columns)))
    tab.locator("#more").click()
    assert column(tab, 0) == [figure(value) for value in numbers]
    assert column(tab, 1) == [duration(abs(value)) for value in numbers]


def test_a_size_has_the_unit_that_fits(opened: Opened) -> None:
    sizes = [3 * 2**29, 2**28, 1000 * 2**20, 2**30 - 1, 1010 * 2**30, 2**41, 1500 * 2**40, 1000.5 * 2**20, 0]
    rows: list[tuple[Cell, ...]] = [(size,) for size in sizes]
    tab = opened(page(table=table(*rows, (None,), columns=(Column("m", "m", "bytes"),))))
    assert column(tab, 0) == [*map(memory, sizes), "-"]


def test_a_click_sorts_by_the_number_and_what_is_not_known_stays_last(opened: Opened) -> None:
    tab = opened(page())
    assert sort(tab, "time") == "ascending"
    assert column(tab, 3) == ["29.1 us", "9.06 ms", "10.9 ms", "-"]
    assert sort(tab, "time") == "descending"
    assert column(tab, 3) == ["10.9 ms", "9.06 ms", "29.1 us", "-"]
    assert sort(tab, "time") == "none"
    assert column(tab, 0) == ["a1", "b2", "c3", "d4"]


def test_texts_are_sorted_as_a_reader_counts(opened: Opened) -> None:
    tab = opened(page(table=table(("n10",), ("n9",), (None,), ("N1",), columns=(Column("x", "x"),))))
    sort(tab, "x")
    assert column(tab, 0) == ["N1", "n9", "n10", "-"]


def test_a_table_is_sorted_with_the_keyboard_alone(opened: Opened) -> None:
    tab = opened(page())
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "threads":
            break
    tab.keyboard.press("Enter")
    assert column(tab, 2) == ["1", "2", "2", "10"]
    tab.keyboard.press("Space")
    assert column(tab, 2) == ["10", "2", "2", "1"]
    assert tab.evaluate("document.activeElement.textContent") == "threads"
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "where one is, can be seen"


@pytest.mark.parametrize(
    ("title", "typed", "left"),
    [
        ("framework", "JA", ["b2", "d4"]),
        ("threads", ">2", ["b2"]),
        ("threads", ">=2", ["a1", "b2", "d4"]),
        ("threads", "1..2", ["a1", "c3", "d4"]),
        ("threads", "..1", ["c3"]),
        ("threads", "2", ["a1", "d4"]),
        ("threads", "= 10", ["b2"]),
        ("time", "<10ms", ["a1", "d4"]),
        ("time", "9.06 ms", ["a1"]),
        ("time", "0.01..1s", ["b2"]),
        ("time", "1us..50us", ["d4"]),
        ("time", "9..10ms", ["a1"]),
        ("time", "29..9500\u00b5s", ["a1", "d4"]),
        ("time", "..0.03ms", ["d4"]),
        ("time", "29us..10ms", ["a1", "d4"]),
        ("throughput", ">1,000,000", ["d4"]),
        ("throughput", ">1e9", []),
    ],
)
def test_a_filter_leaves_what_fits(opened: Opened, title: str, typed: str, left: list[str]) -> None:
    assert fill(opened(page()), title, typed) == (left or ["Nothing matches."])


def test_filters_and_the_search_hold_together_and_it_is_said_how_many_rows_are_left(opened: Opened) -> None:
    tab = opened(page())
    assert tab.locator("#counted").text_content() == "4 cases"
    assert fill(tab, "framework", "jax") == ["b2", "d4"]
    tab.get_by_label("Search").fill("10.9 MS")
    assert column(tab, 0) == ["b2"]
    assert tab.locator("#counted").text_content() == "1 of 4 cases"
    tab.get_by_role("button", name="Reset").click()
    assert column(tab, 0) == ["a1", "b2", "c3", "d4"]
    assert tab.get_by_label("Filter framework").input_value() == ""


def test_a_search_finds_what_is_in_a_column_that_is_not_shown(opened: Opened) -> None:
    tab = opened(page())
    tab.get_by_label("Search").fill("256 MiB")
    assert column(tab, 0) == ["d4"]


def test_a_filter_that_says_nothing_is_marked_and_changes_nothing(opened: Opened) -> None:
    tab = opened(page())
    assert fill(tab, "threads", "many") == ["a1", "b2", "c3", "d4"]
    assert tab.get_by_label("Filter threads").get_attribute("aria-invalid") == "true"
    fill(tab, "threads", ">2")
    assert tab.get_by_label("Filter threads").get_attribute("aria-invalid") == "false"


@pytest.mark.parametrize("typed", ["<30", "1..4", "10ms..4", "<30GiB", "1constructor"])
def test_a_time_has_to_have_its_unit(opened: Opened, typed: str) -> None:
    """Since times are shown in several."""
    tab = opened(page())
    assert fill(tab, "time", typed) == ["a1", "b2", "c3", "d4"]
    field = tab.get_by_label("Filter time", exact=True)
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("title") == "with a unit, as <30ms"


def test_a_size_has_to_have_its_unit(opened: Opened) -> None:
    tab = opened(page(table=table(("a", 2**30), ("b", 2**41), columns=(Column("x", "x"), Column("m", "m", "bytes")))))
    assert fill(tab, "m", "1..4GiB") == ["a"]
    assert fill(tab, "m", ">1TiB") == ["b"]
    assert fill(tab, "m", ">1") == ["a", "b"]
    assert tab.get_by_label("Filter m", exact=True).get_attribute("title") == "with a unit, as <2GiB"


def test_one_row_is_one_case(opened: Opened) -> None:
    assert opened(page(table=table(("a",), columns=(Column("x", "x"),)))).locator("#counted").text_content() == "1 case"


def test_columns_can_be_chosen_and_one_that_goes_takes_its_filter_along(opened: Opened) -> None:
    tab = opened(page())
    fill(tab, "threads", ">2")
    tab.get_by_text("Columns", exact=True).click()
    tab.get_by_label("threads", exact=True).uncheck()
    assert column(tab, 0) == ["a1", "b2", "c3", "d4"]
    assert column(tab, 2) == ["9.06 ms", "10.9 ms", "-", "29.1 us"]
    tab.get_by_role("button", name="All", exact=True).click()
    assert column(tab, 5) == ["1 GiB", "1.5 GiB", "-", "256 MiB"]
    tab.get_by_role("button", name="Default").click()
    assert tab.locator("#sheet thead th").count() == 5


def test_what_is_downloaded_is_what_is_shown_with_the_raw_numbers(opened: Opened, tmp_path: Path) -> None:
    tab = opened(page())
    fill(tab, "framework", "jax")
    sort(tab, "time")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "cases.csv"
    download.value.save_as(tmp_path / "cases.csv")
    text = (tmp_path / "cases.csv").read_bytes().decode("utf-8-sig")
    assert text == (
        "case,framework,intra_op_threads,time_median_s,throughput_items_per_s\r\n"
        "d4,jax,2,0.0000291,1234567\r\n"
        "b2,jax,10,0.0109,5865.25\r\n"
    )


def test_a_download_is_sound_csv_and_no_text_of_it_is_a_formula(opened: Opened, tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", 'a "b", c', "two\nlines", "шаг"]
    columns = (Column("=name", "name"), Column("n", "n", "number"))
    rows: list[tuple[Cell, ...]] = [(text, -1.5) for text in texts]
    tab = opened(page(table=table(*rows, (None, None), (None, 2**60 + 1), columns=columns)))
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download CSV").click()
    download.value.save_as(tmp_path / "cases.csv")
    read = list(csv.reader(io.StringIO((tmp_path / "cases.csv").read_bytes().decode("utf-8-sig"), newline="")))
    guarded = [f"'{text}" if text[0] in "=+-@\t" else text for text in texts]
    assert read == [["'=name", "n"], *([text, "-1.5"] for text in guarded), ["", ""], ["", str(2**60 + 1)]]


@pytest.mark.parametrize("allowed", [True, False], ids=["clipboard", "no clipboard"])
def test_what_is_shown_can_be_copied(opened: Opened, allowed: bool) -> None:
    tab = opened(page(), permissions=["clipboard-read", "clipboard-write"])
    if not allowed:
        tab.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not here')); }")
    fill(tab, "case", "b2")
    tab.locator("#copy").click()
    expect(tab.locator("#copy")).to_have_text("Copied")
    expected = "case\tframework\tintra_op_threads\ttime_median_s\tthroughput_items_per_s\nb2\tjax\t10\t0.0109\t5865.25"
    assert tab.evaluate("navigator.clipboard.readText()") == expected


def test_of_many_rows_the_first_are_shown_and_all_can_be(opened: Opened) -> None:
    rows: list[tuple[Cell, ...]] = [(f"case {number}", math.sqrt(number)) for number in range(1000)]
    tab = opened(page(table=table(*rows, columns=(Column("x", "x"), Column("n", "n", "number")))))
    assert len(column(tab, 0)) == 200
    tab.get_by_role("button", name="Show all 1,000").click()
    assert len(column(tab, 0)) == 1000
    assert not tab.locator("#more").is_visible()


def test_fifty_axes_and_long_names_stay_inside_the_box_of_the_table(opened: Opened) -> None:
    columns = tuple(Column(f"axis_{number}", f"axis {number} " + "x" * 200) for number in range(50))
    tab = opened(page(table=table(*[("y" * 200,) * 50] * 20, columns=columns)))
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.locator("#sheet thead th").count() == 50


def test_the_names_of_the_columns_stay_when_the_table_is_scrolled(opened: Opened) -> None:
    rows: list[tuple[Cell, ...]] = [(f"case {number}", number) for number in range(200)]
    tab = opened(page(table=table(*rows, columns=(Column("x", "x"), Column("n", "n", "number")))))
    tab.locator(".sheet").evaluate("(box) => box.scrollTo(0, 2000)")
    top = "(element) => element.getBoundingClientRect().top"
    offset = tab.locator("#sheet thead").evaluate(top) - tab.locator(".sheet").evaluate(top)
    assert 0 <= offset <= 2
