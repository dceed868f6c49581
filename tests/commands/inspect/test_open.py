"""`hpcbench open` as it is called, with a browser that notes what it is told to open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.integration
NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


@pytest.fixture
def small(small: CommandLine) -> CommandLine:
    """In a process of its own for each command: the module webbrowser finds its browsers once per process."""
    return replace(small, here=False)


@pytest.fixture
def browser(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/opened"\n')
    program.chmod(0o755)
    return {**NO_DISPLAY, "BROWSER": f"{program} %s"}


def test_the_page_is_written_and_opened(small: CommandLine, browser: dict[str, str]) -> None:
    page = small.workspace / "results" / "small" / "report.html"
    done = small("open", "trial", env=browser)
    assert done.stdout.strip() == str(page)
    assert (small.workspace / "opened").read_text() == page.as_uri()
    assert "<html" in page.read_text()
    assert "scp" not in done.stderr


def test_without_a_display_the_path_and_how_to_copy_it_are_printed(small: CommandLine) -> None:
    done = small("open", env=NO_DISPLAY)
    page = small.workspace / "results" / "small" / "report.html"
    assert done.stdout.strip() == str(page)
    assert f":{page} ." in done.stderr
    assert "scp " in done.stderr


def test_the_page_of_an_archive_is_written_to_this_folder(small: CommandLine, browser: dict[str, str]) -> None:
    small("archive", "-o", "packed.tar.gz")
    small("open", "packed.tar.gz", env=browser)
    assert (small.workspace / "opened").read_text() == (small.workspace / "small-report.html").as_uri()
    assert "<html" in (small.workspace / "small-report.html").read_text()


def test_a_sweep_without_results_has_no_page(small: CommandLine, browser: dict[str, str]) -> None:
    small("sweep", "trial.yaml", "--render-only", "--name", "later", "--local")
    assert "no records found; see: hpcbench status later" in small("open", env=browser, expect=1).stderr
    assert not (small.workspace / "opened").exists()
