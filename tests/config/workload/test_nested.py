"""Dotted names of parameters."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.config.workload.nested import NotAMappingError, folded, is_known, shown_value, value_at


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ({"m.x": 1}, {"m": {"x": 1}}),
        ({"m": None, "m.x": 1}, {"m": {"x": 1}}),
        ({"m.x": 1, "m": {"x": 2, "y": 3}}, {"m": {"x": 1, "y": 3}}),
        ({"m.x.y": 1, "m.x": {"z": 2}}, {"m": {"x": {"z": 2, "y": 1}}}),
        ({"optimizer": "adam", "optimizer.eps": 0.1}, {"optimizer": {"name": "adam", "eps": 0.1}}),
    ],
)
def test_a_dotted_name_is_set_within_its_mapping(values: dict[str, Any], expected: dict[str, Any]) -> None:
    before = repr(values)
    assert folded(values) == expected
    assert repr(values) == before


def test_what_is_no_mapping_has_no_keys() -> None:
    with pytest.raises(NotAMappingError, match=r"'m.x.y' cannot be set: 'm.x' is 3, not a mapping"):
        folded({"m": {"x": 3}, "m.x.y": 1})


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("optimizer.learning_rate", True),
        ("optimizer.learning_rate.peak", True),
        ("optimizer.lr", False),
        ("model_options.anything", True),
        ("model_options.", False),
        ("input.ids.shape", True),
        ("data.npz", True),
        ("data.csv", False),
        ("batch_size.x", False),
        ("optimizer", False),
    ],
)
def test_known_names(name: str, known: bool) -> None:
    assert is_known(name) is known


def test_the_value_of_a_name() -> None:
    values = {"optimizer": {"name": "adam", "learning_rate": 0.001}, "nodes": 2}
    assert value_at(values, "optimizer.name") == shown_value(values, "optimizer") == "adam"
    assert value_at(values, "nodes") == 2
    assert shown_value({"model_options": {"width": 4, "height": 3}}, "model_options", "height") == '{"width": 4}'
    assert value_at(values, "nodes.x") is value_at(values, "optimizer.x.y") is value_at(values, "z") is None
