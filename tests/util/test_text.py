from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.util.text import in_list, in_short_list, printable


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    shown = printable(text)
    assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert len(shown) == len(text)
    shown.encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größer, 大, [red]", "größer, 大, [red]"),
        ("one\n\ttwo", "one\n\ttwo"),
        ("\x1b[2Jgone\x9b31m\x07", "?[2Jgone?31m?"),
        ("over\rwritten a\u202eb\u00a0c", "over written a?b c"),
        ("half \ud83d", "half ?"),
    ],
)
def test_what_it_is_shown_as(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("words", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")]
)
def test_words_are_a_list(words: list[str], text: str) -> None:
    assert in_list(words) == text


def test_a_short_list_has_the_first_words_and_counts_the_others() -> None:
    assert in_short_list(["a", "b"], most=2) == "a and b"
    assert in_short_list(["a", "b", "c"], most=2) == "a, b and c"
    assert in_short_list(["a", "b", "c", "d"], most=2) == "a, b and 2 others"
