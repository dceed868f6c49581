"""The places of weights in arrays of other layouts."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.models.initial_weights import InitialWeights
from hpcbench.models.layers import Dense
from hpcbench.node.worker.validation import numbered
from hpcbench.node.worker.validation.numbered import NotFoundError, in_order, places_of

FIRST, SECOND = Dense(2), Dense(3)  # for three and two inputs: 6 + 2 and 6 + 3 weights


def arrays_of(weights: InitialWeights) -> list[np.ndarray]:
    """The kernels transposed and in reverse order, and the biases joined."""
    first, second = weights.of(FIRST, (3,)), weights.of(SECOND, (2,))
    return [second["kernel"].T, first["kernel"].T, np.concatenate([second["bias"], first["bias"]])]


def test_each_element_is_found_in_transposed_and_joined_arrays() -> None:
    places = places_of(arrays_of, 17)
    weights = InitialWeights(5)
    first, second = weights.of(FIRST, (3,)), weights.of(SECOND, (2,))
    expected = np.concatenate([each.ravel() for each in (*first.values(), *second.values())])
    np.testing.assert_array_equal(in_order(arrays_of(InitialWeights(5)), places), expected)


def test_numbers_of_two_digits_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered, "BASE", 5)
    assert np.concatenate([each.ravel() for each in places_of(arrays_of, 17)]).max() == 16


@pytest.mark.parametrize("wrong", [lambda arrays: arrays[:-1], lambda arrays: [*arrays, arrays[0]]])
def test_a_missing_array_is_not_zeros(wrong: object) -> None:
    places = places_of(arrays_of, 17)
    with pytest.raises(NotFoundError, match=r"the framework returned [24] arrays instead of 3"):
        in_order(wrong(arrays_of(InitialWeights(5))), places)  # type: ignore[operator]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda arrays: arrays[1:],
        lambda arrays: [*arrays, arrays[0]],
        lambda arrays: [arrays[0], arrays[1], np.zeros_like(arrays[2])],
    ],
)
def test_missing_repeated_and_unknown_elements_are_refused(wrong: object) -> None:
    with pytest.raises(NotFoundError):
        places_of(lambda weights: wrong(arrays_of(weights)), 17)  # type: ignore[operator]
