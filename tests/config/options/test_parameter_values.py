"""The values of a parameter on the command line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.matrix.axes import Range
from hpcbench.config.options.parameter_values import axis_of
from hpcbench.errors import UserError


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("bs=32,64", [32, 64]),
        ("mode=fast", ["fast"]),
        ("on=true,false", ["true", "false"]),
        ("oversubscribe=true,false", [True, False]),
        ("version=2.9,2.10", ["2.9", "2.10"]),
        ("key=007,0x10,+3,1_0,null,~,1.,.5", ["007", "0x10", "+3", "1_0", "null", "~", "1.", ".5"]),
        ("lr=1e-4,5E-05,0.1", [0.0001, 0.00005, 0.1]),
        ("n=1e3,1e30,0e5", [1000, 1e30, 0]),
        ("n=1e400", ["1e400"]),
        ("n=1e-400", ["1e-400"]),
        ("n=1024,1125899906842624", [1024, 1125899906842624]),
        ("n=9223372036854775807", [2**63 - 1]),
        ("n=9223372036854775808", ["9223372036854775808"]),
        (f"n={'0' * 5000}", ["0" * 5000]),
        ("n=1,auto,nan,1.5", [1, "auto", "nan", 1.5]),
        ("text=$HOME,a;b,*,--x,`id`,@x,%x,a #b,it's", ["$HOME", "a;b", "*", "--x", "`id`", "@x", "%x", "a #b", "it's"]),
        ('text="",\'it\'\'s, ok\', "a\\",b"', ["", "it's, ok", 'a",b']),
        ('text="1","2.10"', ["1", "2.10"]),
        ("d=[1],{a: 1, b: 2},[[2], 3]", [[1], {"a": 1, "b": 2}, [[2], 3]]),
        ("n={{ max(a, b) }},3", ["{{ max(a, b) }}", 3]),
        ('text="a,b",c', ["a,b", "c"]),
        ("text=[1, two]", [1, "two"]),
        ("path=/a/b.csv,../c", ["/a/b.csv", "../c"]),
        ("n=1..4", [1, 2, 3, 4]),
        ("n=1..9:4", [1, 5, 9]),
        ("n=1..8:*2", [1, 2, 4, 8]),
        ("lr=1e-4..1e-1:log", [0.0001, 0.001, 0.01, 0.1]),
        ("x=-1..1", [-1, 0, 1]),
        ("x=0.1..0.3:0.1", [0.1, 0.2, 0.3]),
        ("path=a..b", ["a..b"]),
        ("path=a..b,../data", ["a..b", "../data"]),
    ],
)
def test_values_are_a_list_or_a_range(option: str, values: list[Any]) -> None:
    name, axis = axis_of(option)
    assert name == option.partition("=")[0]
    assert (Range.model_validate(axis).values() if isinstance(axis, dict) else axis) == values


def test_a_dotted_name_of_a_program_becomes_a_word() -> None:
    assert axis_of("optimizer.lr=0.1,0.2") == ("optimizer_lr", [0.1, 0.2])


@pytest.mark.parametrize("option", ["bs", "=1", "b s=1", "bs=", "bs=[", "bs={a", 'bs="a"b', "bs=1,", "bs=,1", "bs=[]"])
def test_an_option_without_values_is_refused(option: str) -> None:
    with pytest.raises(UserError) as caught:
        axis_of(option)
    assert "-P" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("a-b=1", "'a-b' is not a valid parameter name"),
        ("a..b=1", "'a..b' is not a valid parameter name"),
        ("n=1..2,5", "the range '1..2' cannot be used with other values"),
        ("n=1..", "'1..' is an incomplete range"),
        ("n=..3", "'..3' is an incomplete range"),
        ("p=1,", "a value is missing before or after a comma"),
    ],
)
def test_an_error_says_what_is_wrong(option: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        axis_of(option)
    assert (caught.value.what, caught.value.where) == (what, f"-P {option}")
    assert caught.value.hint


@given(st.text(st.characters(codec="ascii", exclude_characters=",\"'[{"), min_size=1).map(str.strip).filter(bool))
def test_any_text_without_commas_reaches_the_program_as_typed(text: str) -> None:
    if ".." in text or "e" in text.lower():
        return  # may be a range, or a number with an exponent
    _, axis = axis_of(f"text={text}")
    assert isinstance(axis, list)
    assert [str(value) for value in axis] == [text]
