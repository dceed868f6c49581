"""The page of a history in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from hpcbench.report.charts.history import figures_of_history
from hpcbench.report.html.history import page_of_history
from hpcbench.report.html.page_model import Page
from tests.report.synthetic_histories import made_up

pytestmark = pytest.mark.browser

Opened = Callable[..., Tab]
WithCharts = Callable[[Tab], Tab]
NUMBERS = ".chart text[aria-roledescription='text mark']"
NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


def page(sweeps: int, cases: int, **changes: float) -> Page:
    history = made_up(sweeps, cases, **changes)
    return page_of_history(history, figures_of_history(history), NOW)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_hours_are_those_of_utc_wherever_the_reader_is(opened: Opened, with_charts: WithCharts, zone: str) -> None:
    tab = with_charts(opened(page(16, 1, hours=0.1), timezone_id=zone))
    labels = tab.locator(".chart .role-axis-label text").all_text_contents()
    assert next(label for label in labels if ":" in label) == "01-01 03:00"


def test_a_change_says_what_changed_beside_it(opened: Opened, with_charts: WithCharts) -> None:
    tab = with_charts(opened(page(60, 2)))
    tab.locator(NUMBERS).hover()
    said = tab.locator(".tip dd").all_text_contents()
    assert said[0] == "1"
    assert "torch 2.5.0 -> 2.6.0" in said[1]
    expect(tab.locator("#aggregates tbody tr").first).to_contain_text("torch 2.5.0 -> 2.6.0")


def test_panels_are_drawn_for_each_case_and_every_value_is_in_the_table(
    opened: Opened, with_charts: WithCharts
) -> None:
    tab = with_charts(opened(page(100, 4)))
    assert tab.locator(".chart .role-title text").all_text_contents() == [f"batch_size={2**n}" for n in range(2, 6)]
    expect(tab.locator("#counted")).to_have_text("400 values")


def test_a_phone_shows_it_all(opened: Opened, with_charts: WithCharts) -> None:
    phone = {"viewport": {"width": 360, "height": 740}, "is_mobile": True}
    tab = with_charts(opened(page(30, 2), **phone))
    assert tab.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [360, 360]
