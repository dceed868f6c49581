"""Operators whose arrays do not fit into memory; the amount of available memory is made up."""

from __future__ import annotations

import pytest

from hpcbench.models.operators.catalog import operator_of
from hpcbench.node.errors import Unsupported
from hpcbench.node.frameworks import operator_memory
from hpcbench.node.frameworks.operator_memory import check_memory, needed_bytes
from tests.node.worker.validation.numpy_call import computation

ADD = operator_of("add", {"size": 1_000_000_000})


@pytest.mark.parametrize(
    ("phase", "dtype", "expected"),
    [
        ("forward", "float32", 2 * 8 + 4),  # two arrays, as they are drawn and in the data type, and a result
        ("forward", "bfloat16", 2 * 6 + 2),
        ("both", "float32", 3 * 8 + 3 * 4),  # a cotangent in addition; the result and two gradients
    ],
)
def test_needed_bytes_are_those_of_arrays_and_results(phase: str, dtype: str, expected: int) -> None:
    assert needed_bytes(ADD, phase, dtype) == expected * 10**9


def test_what_does_not_fit_is_unsupported_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: 19_900_000_000)
    with pytest.raises(
        Unsupported, match=r"^the arrays of the operator need 20\.0 GB of memory, and 19\.9 GB are available$"
    ):
        check_memory(ADD, "forward", "float32")
    check_memory(ADD, "forward", "bfloat16")


def test_without_a_known_amount_an_operator_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: None)
    check_memory(ADD, "both", "float32")


def test_memory_is_checked_before_the_arrays_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_memory, "available_bytes", lambda system: 1000)
    with pytest.raises(Unsupported, match=r"and 0\.0 GB are available"):
        computation("add", {"size": 1_000_000_000})
