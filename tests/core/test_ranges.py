from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hpcbench.core import ranges


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((5,), "5"), ((0, 1), "0-1"), ((0, 1, 2, 3, 7), "0-3,7"), ((9, 4, 5), "4-5,9"), (tuple(range(1000)), "0-999")],
)
def test_numbers_are_written_as_sbatch_writes_them(numbers: tuple[int, ...], text: str) -> None:
    assert ranges.compact(numbers) == text
    assert ranges.expand(text) == tuple(sorted(numbers))


@hypothesis_settings(derandomize=True)
@given(st.sets(st.integers(0, 1000), max_size=60))
@example(set())
def test_numbers_survive_being_written_in_short(numbers: set[int]) -> None:
    assert ranges.expand(ranges.compact(numbers)) == tuple(sorted(numbers))


@pytest.mark.parametrize(("text", "numbers"), [("0-2,8\n", (0, 1, 2, 8)), ("", ()), (None, ())])
def test_a_list_of_the_kernel_is_its_numbers(text: str | None, numbers: tuple[int, ...]) -> None:
    assert ranges.expand(text) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-8:4", (0, 4, 8)), ("1-9:2,20", (1, 3, 5, 7, 9, 20)), ("5-7:1", (5, 6, 7))]
)
def test_a_range_of_slurm_may_have_a_step(text: str, numbers: tuple[int, ...]) -> None:
    assert ranges.expand(text) == numbers


@pytest.mark.parametrize("text", ["1,3,...", "a", "1-2:3:4", "[1]"])
def test_what_is_not_a_range_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        ranges.expand(text)
