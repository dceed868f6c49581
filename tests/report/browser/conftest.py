"""A real Chromium without a screen, and pages opened in it from a file, as a reader opens them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from playwright.sync_api import Page as Tab

from hpcbench.report.html.page_model import Page
from hpcbench.report.html.render import render


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator[Browser]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's own does not run as root
    expect.set_options(timeout=30_000)  # machines that run tests are busy
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=sandbox)
        yield running
        running.close()


@pytest.fixture
def open_file(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """Open a file that is a page, its options those of a browser context. After the test nothing may have been said on
    the console or asked of a network by any page."""
    complaints: list[str] = []
    contexts = []

    def note_request(url: str) -> None:
        if not url.startswith((tmp_path.as_uri(), "blob:")):
            complaints.append(f"requested {url}")

    def open_page(file: Path, **options: Any) -> Tab:
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: note_request(request.url))
        tab.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        tab.goto(file.as_uri())
        tab.wait_for_selector("#sheet tbody tr")
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def opened(open_file: Callable[..., Tab], tmp_path: Path) -> Callable[..., Tab]:
    """Open a page, as `open_file` does."""
    count = itertools.count()

    def open_page(page: Page, **options: Any) -> Tab:
        file = tmp_path / f"{next(count)}.html"
        file.write_text(render(page), encoding="utf-8")
        return open_file(file, **options)

    return open_page


@pytest.fixture
def with_charts() -> Callable[[Tab], Tab]:
    """Scroll through a page until its charts are drawn."""

    def draw(tab: Tab) -> Tab:
        for place in tab.locator("[data-chart]").all():
            place.scroll_into_view_if_needed()
            expect(place).to_have_attribute("data-drawn", "")
        return tab

    return draw
