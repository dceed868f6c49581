"""The page of predictions in a real Chromium: tables with prices fit, and notes have a margin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page as Tab

from hpcbench.report.predictor.chart import figures_of_predictions
from hpcbench.report.predictor.page import page_of_predictions
from hpcbench.report.predictor.text.summary import Wanted
from tests.report.predictor.made_predictions import made_predictions, question

pytestmark = pytest.mark.browser
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
GPUS = ("a100-pcie-40", "h100-sxm", "l40s")


@pytest.fixture
def predictions(opened: Callable[..., Tab]) -> Callable[[int], Tab]:
    """Open the page of two cases on three devices in a window of this width."""
    made = made_predictions(question(2, devices=GPUS))

    def open_page(width: int) -> Tab:
        page = page_of_predictions(made, Wanted(), figures_of_predictions(made), NOON)
        return opened(page, viewport={"width": width, "height": 900})

    return open_page


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_window(predictions: Callable[[int], Tab], width: int) -> None:
    assert predictions(width).evaluate("document.documentElement.scrollWidth") == width


def test_tables_with_prices_and_emissions_fit_a_wide_window(predictions: Callable[[int], Tab]) -> None:
    tab = predictions(1280)
    boxes = tab.locator(".box:has(> .ranking)")
    assert boxes.count() >= 7
    widths = boxes.evaluate_all("boxes => boxes.map((each) => [each.scrollWidth, each.clientWidth])")
    assert [inner for inner, outer in widths if inner > outer] == []


def test_a_note_has_a_margin_below_its_table(predictions: Callable[[int], Tab]) -> None:
    tab = predictions(1280)
    note = tab.locator(".box + .note").first
    gap = note.evaluate(
        "(each) => each.getBoundingClientRect().top - each.previousElementSibling.getBoundingClientRect().bottom"
    )
    assert gap >= 4
