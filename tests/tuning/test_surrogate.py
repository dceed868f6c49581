"""Spaces of settings: places on axes, and neighbours."""

from __future__ import annotations

import pytest

from hpcbench.errors import UserError
from hpcbench.tuning import surrogate
from hpcbench.tuning.surrogate import Space

SETTINGS = [{"threads": threads, "allocator": allocator} for threads in (4, None, 2) for allocator in (None, "a", "b")]


def test_numbers_are_in_their_order_after_what_is_not_set() -> None:
    space = Space.of(SETTINGS)
    assert space.sizes == (3, 3)
    assert space.ordered == (True, False)
    assert space.points[:4] == [(2, 0), (2, 1), (2, 2), (0, 0)]


def test_neighbours_differ_in_one_parameter() -> None:
    space = Space.of(SETTINGS)
    near = [SETTINGS[number] for number in space.neighbours(SETTINGS.index({"threads": 4, "allocator": "a"}))]
    assert sorted(near, key=str) == [
        {"threads": 2, "allocator": "a"},
        {"threads": 4, "allocator": "b"},
        {"threads": 4, "allocator": None},
    ]


def test_true_and_false_are_no_numbers() -> None:
    assert Space.of([{"onednn": True}, {"onednn": False}, {"onednn": None}]).ordered == (False,)


def test_a_space_with_holes_has_the_neighbours_that_are_there() -> None:
    space = Space.of([{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 1, "b": 2}])
    assert space.neighbours(0) == [2]


def test_without_optuna_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surrogate.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="Optuna"):
        surrogate.check_installed()
