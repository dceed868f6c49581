"""`hpcbench report --html` as a reader opens it: real sweeps of commands, and made-up records of models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.store.machine_peaks import keep_peaks
from hpcbench.store.workspace import Workspace
from tests.report.browser import synthetic

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "goes on " * 25
OpenFile = Callable[[Path], Tab]
WithCharts = Callable[[Tab], Tab]
# What draws a number that a program prints, in another way for each case.
BENCH = "python3 -c 'print(\"rate:\", 100 * {{ size }})'"
MACHINE = MachinePeaks("AMD EPYC", 8, None, (Peak("cpu", 4, "float32", 2e11, 2e10, "numpy", "n1", "2026-11-01"),))
MODELS: dict[str, dict[str, Any]] = {
    "workloads and frameworks": {
        "parameters": {"intra_op_threads": 4, "cpus_per_task": 4},
        "matrix": {"framework": ["pytorch", "jax"], "model": ["mlp", "lstm"], "task": ["inference", "training"]},
    },
    "scaling over nodes": {
        "parameters": {"framework": "pytorch", "strategy": "ddp", "intra_op_threads": 4, "cpus_per_task": 4},
        "matrix": {"nodes": [1, 2, 4, 8]},
    },
    "threads by threads": {
        "parameters": {"framework": "pytorch", "model": "lstm", "task": "inference", "cpus_per_task": 8},
        "matrix": {"intra_op_threads": [1, 2, 4, 8], "inter_op_threads": [1, 2, 4]},
    },
    "many axes": {
        "parameters": {"framework": "pytorch", "intra_op_threads": 4, "cpus_per_task": 4},
        "matrix": {
            "batch_size": [16, 32],
            "mood": ["calm", "broken", HOSTILE],
            "note": [LONG, f"{LONG}!"],
            "optimizer.learning_rate": [0.1, 0.01],
            "seed": [1, 2],
        },
        "user_parameters": ["mood", "note"],
    },
}


@pytest.fixture
def page_of(command_line: Any, open_file: OpenFile) -> Callable[..., Tab]:
    """The page of a sweep, in the browser."""

    def make(*arguments: str, expect: int = 0) -> Tab:
        done = command_line("report", *arguments, "--html", "report.html", expect=expect)
        assert "wrote report.html" in done.stderr
        return open_file(command_line.workspace / "report.html")

    return make


def is_whole(tab: Tab, with_charts: WithCharts) -> int:
    """How many charts there are, all of which have been drawn; nothing of the data is markup."""
    with_charts(tab)
    charts = tab.locator("[data-chart]")
    for place in charts.all():
        assert place.locator("svg").count() == 1, place.text_content()
        assert place.locator("svg path, svg line, svg text").count() > 5
    assert tab.get_by_text("could not be drawn").count() == 0
    legends = tab.locator("[data-chart] .role-legend-label text").all_text_contents()
    assert [name for name in legends if name.endswith("\N{HORIZONTAL ELLIPSIS}")] == [], "cut by Vega"
    assert tab.locator("img, iframe, object, [onerror]").count() == 0
    assert "undefined" not in str(tab.locator("main").text_content())
    wide = "[document.documentElement.scrollWidth <= innerWidth, innerWidth]"
    assert tab.evaluate(wide)[0], "something is wider than the page"
    return charts.count()


def filled(tab: Tab, name: str, text: str) -> int:
    """How many rows are left."""
    tab.get_by_label(f"Filter {name}", exact=True).fill(text)
    return tab.locator("#sheet tbody tr:not(:has(.none))").count()


def is_printed(tab: Tab, path: Path) -> None:
    printed = tab.pdf(path=path, prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", printed)) >= 2
    assert tab.locator("[data-chart]:not([data-drawn])").count() == 0


def test_a_real_sweep_of_commands(
    command_line: Any, page_of: Callable[..., Tab], with_charts: WithCharts, tmp_path: Path
) -> None:
    """With a metric, a case that fails, and texts that nobody should write into a tag."""
    experiment = {
        "name": "real",
        "parameters": {"framework": "command", "command": BENCH, "note": HOSTILE},
        "matrix": {"size": [1, 2, 3], "text": [HOSTILE, LONG]},
        "include": [{"size": 9, "text": HOSTILE, "command": "echo 'a </script> that fails' >&2; exit 3"}],
        "user_parameters": ["size", "text", "note"],
        "same_workload": ["size", "text", "note"],
        "metrics": {"rate": {"regex": "rate: ([0-9]+)", "unit": "it/s", "better": "higher"}},
        "measure": {"repetitions": 2, "retries": 0, "idle_node": "ignore"},
    }
    command_line.workspace.joinpath("real.yaml").write_text(json.dumps(experiment))
    command_line("sweep", "real.yaml", "--local", expect=1)
    tab = page_of(expect=1)
    assert is_whole(tab, with_charts) >= 1
    assert "size=3" in str(tab.locator(".sentence").first.text_content())
    assert HOSTILE in str(tab.locator("#ranking").text_content())
    assert "exit" in str(tab.locator("#failures").text_content())
    assert filled(tab, "text", "onerror") == 4
    tab.get_by_role("button", name="Reset").click()
    assert tab.locator("#sheet tbody tr").count() == 7
    tab.locator("#sheet thead button", has_text="size").first.click()
    expect(tab.locator("#sheet th[aria-sort=ascending]")).to_have_count(1)
    sizes = tab.eval_on_selector_all("#sheet tbody tr", "(rows) => rows.map((row) => row.cells[0].textContent)")
    assert sizes == ["1", "1", "2", "2", "3", "3", "9"]
    is_printed(tab, tmp_path / "page.pdf")


@pytest.mark.parametrize("kind", MODELS)
def test_made_up_records_of_models(
    command_line: Any, page_of: Callable[..., Tab], with_charts: WithCharts, tmp_path: Path, kind: str
) -> None:
    """With energy, prices, peaks of the machine, and windows in which others with_interference the measurement."""
    site = command_line.site(
        environments={"pytorch": {"python": "python3"}, "jax": {"python": "python3"}},
        cost={"core_hour": 0.02, "currency": "EUR"},
    )
    experiment = {**MODELS[kind], "name": "made", "measure": {"repetitions": 3}}
    experiment["parameters"] = {"model": "mlp", **experiment["parameters"]}
    command_line.workspace.joinpath("made.yaml").write_text(json.dumps(experiment))
    command_line("sweep", "made.yaml", "--site", site, "--render-only", "--name", "made")
    synthetic.write(command_line.workspace, "made")
    keep_peaks(Workspace(command_line.workspace), MACHINE)
    tab = page_of(expect=int(kind == "many axes"))
    assert is_whole(tab, with_charts) >= 5
    titles = tab.locator("figure h3").all_text_contents()
    assert any(title.startswith("Measurements over time") for title in titles)
    assert any(title.startswith("Time against energy") for title in titles)
    assert any(title.startswith("Time against price") for title in titles)
    assert any(title.startswith("Roofline") for title in titles) == (kind != "threads by threads")
    assert any("scaling" in title for title in titles) == (kind in ("scaling over nodes", "threads by threads"))
    assert tab.locator("#machines").get_by_text("AMD EPYC").count() == 1
    assert filled(tab, "status", "completed") > 1
    is_printed(tab, tmp_path / "page.pdf")
