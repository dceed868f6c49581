"""The table of the parts of training steps, on a terminal and on the page."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from hpcbench.analysis.results import Results
from hpcbench.report.html.training_tables import step_parts_of
from hpcbench.report.terminal.training_tables import print_training_tables
from tests.report.synthetic_results import case, results


def steps(*tasks: str) -> Results:
    times = {"inference": 0.01, "backward": 0.03, "training": 0.035}
    cases = (case(times[task], task=task, batch_size=size) for size in (8, 16) for task in tasks)
    return results(*cases)


def printed(found: Results, capsys: pytest.CaptureFixture[Any], top: int = 10) -> str:
    print_training_tables(found, top, Console(width=200))
    return str(capsys.readouterr().out)


def test_a_row_has_the_parts_of_a_step_in_one_unit(capsys: pytest.CaptureFixture[Any]) -> None:
    shown = printed(steps("inference", "backward", "training"), capsys)
    title, header, *rows = shown.splitlines()
    assert title == "Parts of a training step"
    assert "backward - inference (ms)" in header
    assert "update (training - backward) (ms)" in header
    assert [row.split()[0] for row in rows] == ["8", "16"]
    assert "more: show all with --top" in printed(steps("inference", "backward"), capsys, top=1)


def test_a_column_without_a_value_is_left_out(capsys: pytest.CaptureFixture[Any]) -> None:
    assert "inference" not in printed(steps("backward", "training"), capsys)


def test_without_the_task_backward_there_is_no_table(capsys: pytest.CaptureFixture[Any]) -> None:
    found = steps("inference", "training")
    assert printed(found, capsys) == ""
    assert step_parts_of(found) is None


def test_the_page_has_the_same_table() -> None:
    found = step_parts_of(steps("inference", "backward", "training"))
    assert found is not None
    (table,) = found.tables
    assert table.title == "2 training steps"
    assert table.columns[0].title == "batch size"


def test_a_narrow_terminal_drops_the_times_of_whole_tasks(capsys: pytest.CaptureFixture[Any]) -> None:
    print_training_tables(steps("inference", "backward", "training"), 10, Console(width=80))
    header = str(capsys.readouterr().out).partition("Parts of a training step")[2].split("8  ")[0]
    assert "update" in header
    assert header.count("95 % CI") < 5  # all five parts have one
