from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcbench.config.experiment import Experiment
from hpcbench.config.matrix.axes import Range, axis_values
from hpcbench.errors import UserError

Load = Callable[..., Experiment]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{range: [1, 8]}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{range: [1, 8], step: 3}", [1, 4, 7, 8]),
        ("{range: [1, 8], step: 100}", [1, 8]),
        ("{range: [5, 5]}", [5]),
        ("{range: [-2, 2], step: 2}", [-2, 0, 2]),
        ('{range: [1, 64], step: "*2"}', [1, 2, 4, 8, 16, 32, 64]),
        ('{range: [1, 48], step: "*2"}', [1, 2, 4, 8, 16, 32, 48]),
        ('{range: [3, 100], step: "*10"}', [3, 30, 100]),
        ("[1, two, 3.0]", [1, "two", 3.0]),
    ],
)
def test_an_axis_has_these_values_and_types(text: str, values: list[Any], load: Load) -> None:
    found = axis_values(load(f"matrix: {{batch_size: {text}}}").matrix["batch_size"])
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize(
    ("first", "last", "step", "values"),
    [
        (0.1, 0.5, 0.1, [0.1, 0.2, 0.3, 0.4, 0.5]),
        (1, 2, 0.25, [1, 1.25, 1.5, 1.75, 2]),
        (1, 10, "*1.5", [1, 1.5, 2.25, 3.375, 5.0625, 7.59375, 10]),
        (0, 4.9, 0.7, [0, 0.7, 1.4, 2.1, 2.8, 3.5, 4.2, 4.9]),
    ],
)
def test_a_step_may_be_a_fraction(first: float, last: float, step: float | str, values: list[float]) -> None:
    found = Range(range=(first, last), step=step).values()
    assert found == pytest.approx(values)
    assert (found[0], found[-1]) == (first, last)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{range: [1.0e-9, 1.0e-7], step: "*10"}', [1e-9, 1e-8, 1e-7]),
        ("{range: [1e-9, 5e-9], step: 1e-9}", [1e-9, 2e-9, 3e-9, 4e-9, 5e-9]),
        ("{range: [0, 3e-12], step: 1e-12}", [0, 1e-12, 2e-12, 3e-12]),
        ("{range: [1e-14, 3.5e-14], step: 1e-14}", [1e-14, 2e-14, 3e-14, 3.5e-14]),
        ('{range: [1e-15, 4e-15], step: "*2"}', [1e-15, 2e-15, 4e-15]),
        ("{range: [-2e-13, 1e-13], step: 1e-13}", [-2e-13, -1e-13, 0.0, 1e-13]),
        ("{range: [1, 1.000000000003], step: 1e-12}", [1, 1.000000000001, 1.000000000002, 1.000000000003]),
        ("{range: [1e-300, 3e-300], step: 1e-300}", [1e-300, 2e-300, 3e-300]),
        ("{range: [0, 1], step: 0.3333333333}", [0, 0.3333333333, 0.6666666666, 1]),
        ("{range: [9007199254740993, 9007199254740995]}", [9007199254740993, 9007199254740994, 9007199254740995]),
    ],
)
def test_numbers_of_any_size_are_the_decimals_that_a_person_would_write(
    text: str, values: list[int | float], load: Load
) -> None:
    assert axis_values(load(f"user_parameters: [x]\nmatrix: {{x: {text}}}").matrix["x"]) == values


@pytest.mark.parametrize(
    ("first", "last", "step"), [(1e16, 1e16 + 64, 0.25), (1, 2, 1e-17), (1.0, 2.0, "*1.00000000000000000001")]
)
def test_a_step_too_small_for_floats_is_refused(first: float, last: float, step: float | str) -> None:
    with pytest.raises(ValueError, match=r"never reaches the end|is too small for numbers such as 1"):
        Range(range=(first, last), step=step)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 999), st.integers(1, 99), st.integers(1, 40), st.integers(-300, 300))
def test_a_range_of_any_magnitude_has_the_digits_of_the_integers(
    start: int, step: int, length: int, power: int
) -> None:
    """The numbers of a range times a power of ten are those of the range of integers, times this power."""
    whole = Range(range=(start, start + length * step), step=step).values()
    first, last, each = (float(f"{digits}e{power}") for digits in (start, start + length * step, step))
    assert Range(range=(first, last), step=each).values() == [float(f"{digits}e{power}") for digits in whole]


@settings(derandomize=True, deadline=None)
@given(
    st.integers(1, 1000),
    st.integers(0, 1000),
    st.one_of(st.integers(1, 50), st.integers(2, 9).map("*{}".format), st.sampled_from(["*1.5", 0.5, 12.5])),
)
def test_both_ends_belong_to_a_range_and_it_only_rises(first: int, length: int, step: int | float | str) -> None:
    values = Range(range=(first, first + length), step=step).values()
    assert (values[0], values[-1]) == (first, first + length)
    assert all(before < after for before, after in pairwise(values))


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("{range: [8, 1]}", "starts at 8, above its end 1"),
        ("{range: [1, 8], step: 0}", "never reaches"),
        ("{range: [1, 8], step: -1}", "never reaches"),
        ('{range: [1, 8], step: "*1"}', "never reaches"),
        ('{range: [1, 8], step: "*-2"}', "never reaches"),
        ('{range: [0, 8], step: "*2"}', "never reaches"),
        ("{range: [1, 8], step: fast}", "must be a number"),
        ('{range: [1, 8], step: "*fast"}', "must be a number"),
        ("{range: [1, 10000000000]}", "more than 100,000 values"),
        ("{range: [1, 2], step: 0.000000001}", "more than 100,000 values"),
        ("{range: [1]}", "range"),
        ("{range: [1, 2, 3]}", "range"),
        ("{range: [a, b]}", "range"),
        ("{range: 8}", "range"),
        ("{}", "range"),
        ("{range: [1, 8], stp: 2}", "did you mean 'step'"),
        ("[]", "no values"),
        ("4", "write [4]"),
        ("few", "write [few]"),
        ("{range: [1, 8], step: nan}", "step"),
        ("{range: [1, 8], step: inf}", "step"),
        ('{range: [1, 8], step: "*inf"}', "step"),
    ],
)
@pytest.mark.parametrize("section", ["matrix: {batch_size: %s}", "zip: [{batch_size: %s}]"])
def test_a_bad_axis_is_refused_with_its_place(section: str, axis: str, words: str, load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load(section % axis)
    message = str(caught.value)
    assert message.startswith("study.yaml:5: ")
    assert "batch_size" in message
    assert words in message
