"""Whether a quote of bash is open, compared with what bash says."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.options.shell_quotes import is_inside_quotes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("a", False),
        ('"', True),
        ("'", True),
        ("'\\", True),
        ("'\\'", False),
        ("\\'", False),
        ("\\\"'x' \"it's\" ", False),
        ('"\\"', True),
        ('"it\'s"', False),
        ("'$(", True),
        ('"$(', False),
        ('"$(a "', True),
        ('"$(a "b")', True),
        ('"$(a) ', True),
        ('"$((1 + (2)))', True),
        ('$(a "', True),
        ("$(a ')' ", False),
        (") (", False),
    ],
)
def test_a_quote_is_open_or_not(text: str, expected: bool) -> None:
    assert is_inside_quotes(text) is expected


@given(st.lists(st.sampled_from(["a", " ", "\\", '"', "'"]), max_size=12).map("".join))
def test_bash_expects_the_end_of_a_quote_if_one_is_open(text: str) -> None:
    done = subprocess.run(["bash", "-nc", f": {text}"], capture_output=True, text=True, check=False)
    is_open = "unexpected EOF while looking for matching" in done.stderr
    assert is_inside_quotes(text) is is_open
