"""Frozen dataclasses to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from hpcbench.core.typed_json import InvalidError, from_json, to_json


class Pair(NamedTuple):
    first: float
    second: int


@dataclass(frozen=True)
class Leaf:
    name: str
    size: float | None = None


@dataclass(frozen=True)
class Tree:
    count: int
    is_ready: bool
    either: int | str
    leaf: Leaf | None
    leaves: Sequence[Leaf]
    pairs: Sequence[Pair]
    by_name: Mapping[str, Leaf]
    anything: Mapping[str, Any]
    numbers: Sequence[float | None] = ()


JSON = {
    "count": 2,
    "is_ready": False,
    "either": "text",
    "leaf": {"name": "a", "size": 1},
    "leaves": [{"name": "b", "size": None}],
    "pairs": [[1.5, 2]],
    "by_name": {"c": {"name": "c", "size": 0.5}},
    "anything": {"d": [None, {"e": 1}]},
    "numbers": [1, 2.5, None],
}


def test_a_tree_goes_to_json_and_back() -> None:
    tree = from_json(Tree, JSON)
    assert tree == Tree(
        *(2, False, "text", Leaf("a", 1), [Leaf("b")], [Pair(1.5, 2)], {"c": Leaf("c", 0.5)}),
        *({"d": [None, {"e": 1}]}, [1, 2.5, None]),
    )
    assert to_json(tree) == JSON


def test_a_field_with_a_default_may_be_absent_and_one_that_the_type_does_not_have_is_ignored() -> None:
    data = {name: value for name, value in JSON.items() if name != "numbers"}
    assert from_json(Tree, {**data, "later": 1}).numbers == ()
    assert from_json(Leaf, {"name": "a"}) == Leaf("a", None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": "2"}, "count is a string"),
        ({"count": 2.5}, "count is a number"),
        ({"count": True}, "count is a boolean"),
        ({"is_ready": 1}, "is_ready is a number"),
        ({"either": None}, "either is null"),
        ({"leaf": []}, "leaf is an array"),
        ({"leaf": {"size": 1}}, "leaf.name is missing"),
        ({"leaves": [{"name": "b"}, {"name": 1}]}, "leaves[1].name is a number"),
        ({"leaves": None}, "leaves is null"),
        ({"pairs": [[1.5]]}, "pairs[0] has 1 elements instead of 2"),
        ({"pairs": [[1.5, None]]}, "pairs[0][1] is null"),
        ({"by_name": {"c": 1}}, "by_name.c is a number"),
        ({"anything": "x"}, "anything is a string"),
        ({"numbers": [1, "2"]}, "numbers[1] is a string"),
        ({"count": 2**63}, "count does not fit into 64 bits"),
        ({"either": -(2**63) - 1}, "either does not fit into 64 bits"),
        ({"pairs": [[1.5, 2**63]]}, "pairs[0][1] does not fit into 64 bits"),
        ({"pairs": [{"first": 1.5, "second": 2}]}, "pairs[0] is an object"),
    ],
)
def test_the_first_field_of_another_type_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidError) as raised:
        from_json(Tree, {**JSON, **changes})
    assert str(raised.value) == words


def test_the_largest_numbers_are_read_and_a_whole_number_beyond_64_bits_is_a_float() -> None:
    tree = from_json(Tree, {**JSON, "count": 2**63 - 1, "either": -(2**63), "numbers": [10**20, 1e308]})
    assert (tree.count, tree.either) == (2**63 - 1, -(2**63))
    assert repr(tree.numbers) == "[1e+20, 1e+308]"
    assert repr(from_json(Leaf, {"name": "a", "size": -(10**20)}).size) == "-1e+20"
    assert from_json(Leaf, {"name": "a", "size": -(10**400)}).size == float("-inf")


@pytest.mark.parametrize("name", [name for name in JSON if name != "numbers"])
def test_a_field_that_is_missing_is_named(name: str) -> None:
    with pytest.raises(InvalidError, match=f"^{name} is missing$"):
        from_json(Tree, {other: value for other, value in JSON.items() if other != name})
