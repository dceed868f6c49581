"""The memory of a step from its operators, with numbers by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.results.memory import memory_of

OPERATORS = pd.DataFrame(
    {
        "phase": ["forward", "forward", "forward", "backward"],
        "is_view": [False, False, True, False],
        "output_bytes": [1000, 200, 9000, 5000],
        "calls": [2, 1, 1, 1],
    }
)


def test_training_keeps_weights_gradients_states_and_outputs() -> None:
    assert memory_of(OPERATORS, 100, True, "adam", 1500.0) == (400 * 4 + 1000, 400 * 4 + 1500, 400 * 4 + 2200)


@pytest.mark.parametrize(("saved", "expected"), [(10.0, 1000), (9000.0, 2200)], ids=["too few", "too many"])
def test_the_memory_of_a_training_is_within_its_limits(saved: float, expected: int) -> None:
    found = memory_of(OPERATORS, 100, True, "adam", saved)
    assert found is not None
    assert found.value == 400 * 4 + expected


@pytest.mark.parametrize(("optimizer", "copies"), [("sgd", 2), ("momentum", 3), ("adamw", 4)])
def test_optimizers_differ_in_their_states(optimizer: str, copies: int) -> None:
    found = memory_of(OPERATORS, 100, True, optimizer)
    assert found is not None
    assert found.low == 400 * copies + 1000


def test_inference_keeps_the_tensors_of_one_operator() -> None:
    found = memory_of(OPERATORS, 100, False)
    assert found is not None
    assert (found.low, found.high) == (400 + 1000, 400 + 3000)


def test_without_operators_or_weights_it_is_unknown() -> None:
    assert memory_of(OPERATORS, None, True) is None
    assert memory_of(OPERATORS.head(0), 100, True) is None
