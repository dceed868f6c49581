"""Bars and sparklines, drawn by hand."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from hpcbench.report.text.bars import around, bar, shows_blocks, sparkline


@pytest.mark.parametrize(
    ("share", "blocks", "plain"),
    [
        (0.0, "", ""),
        (1.0, "████", "####"),
        (0.5, "██", "##"),
        (0.40625, "█▋", "##"),  # 13 eighths of a character
        (0.001, "▏", "#"),
        (7.0, "████", "####"),
        (-1.0, "", ""),
        (math.nan, "", ""),
    ],
)
def test_a_bar_is_as_long_as_its_share(share: float, blocks: str, plain: str) -> None:
    assert bar(share, 4) == blocks
    assert bar(share, 4, plain=True) == plain


def test_a_sparkline_has_a_level_for_each_eighth_of_the_range() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇██"
    assert sparkline([8, 0, 4], plain=True) == "#_="


def test_two_sparklines_can_have_one_scale() -> None:
    assert sparkline([1, 2], limits=(0, 8)) == "▂▃"
    assert sparkline([-1, 9], limits=(0, 8)) == "▁█"


@pytest.mark.parametrize(
    ("values", "limits"),
    [([1.0, 3.0], (1.0, 3.0)), ([2.0, 4.0, 2.25], (2.0, 4.0)), ([4.0, 4.0], (3.0, 5.0)), ([-4.0, -4.0], (-5.0, -3.0))],
)
def test_limits_are_no_closer_than_a_part_of_the_median(values: list[float], limits: tuple[float, float]) -> None:
    assert around(values, 0.5) == limits


@pytest.mark.parametrize(
    ("values", "drawn"), [([], ""), ([5.0, 5.0], "▄▄"), ([-1e308, 1e308], "▄▄"), ([1.0, math.nan, 2.0], "▁ █")]
)
def test_what_a_sparkline_shows_of_nothing_of_equals_and_of_gaps(values: list[float], drawn: str) -> None:
    assert sparkline(values) == drawn


@pytest.mark.parametrize(
    ("encoding", "terminal", "kind", "shown"),
    [
        ("utf-8", True, "xterm", True),
        ("utf-8", False, "xterm", False),
        ("utf-8", True, "dumb", False),
        ("ascii", True, "xterm", False),
        ("latin-1", True, "xterm", False),
    ],
)
def test_blocks_are_for_terminals_whose_encoding_has_them(
    encoding: str, terminal: bool, kind: str, shown: bool
) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, force_terminal=terminal, _environ={"TERM": kind})
    assert shows_blocks(console) == shown
