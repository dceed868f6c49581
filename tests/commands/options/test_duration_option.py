"""Durations of options, in seconds."""

from __future__ import annotations

import click
import pytest

from hpcbench.commands.options.duration_option import seconds

OPTION = click.Option(["--within"])
CONTEXT = click.Context(click.Command("predict"))


@pytest.mark.parametrize(
    ("text", "expected"), [("500ms", 0.5), ("1.5s", 1.5), ("2 min", 120.0), ("30us", 30e-6), ("1h", 3600.0)]
)
def test_a_duration_is_a_number_with_a_unit(text: str, expected: float) -> None:
    assert seconds(CONTEXT, OPTION, text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["500", "0ms", "-1s", "ms", "1 week", "1e3s", ""])
def test_others_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time above 0 with a unit"):
        seconds(CONTEXT, OPTION, text)


def test_without_the_option_there_is_no_duration() -> None:
    assert seconds(CONTEXT, OPTION, None) is None
