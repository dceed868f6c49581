"""The map of an array: the largest value of each block."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.node.worker.validation.heat_map import CELLS, heat_map


def test_a_small_array_is_its_own_map() -> None:
    found = heat_map("x", np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.12345678]]))
    assert (found.array, found.shape, found.rows) == ("x", [2, 3], [[1, 2, 3], [4, 5, 6.123]])


def test_all_dimensions_but_the_last_are_joined() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    assert heat_map("x", values).rows == values.reshape(6, 4).tolist()
    assert heat_map("x", np.arange(3.0)).rows == [[0, 1, 2]]
    assert (heat_map("x", np.array(7.0)).shape, heat_map("x", np.array(7.0)).rows) == ([1, 1], [[7]])


def test_a_block_with_a_number_that_is_not_finite_has_no_value() -> None:
    assert heat_map("x", np.array([[1.0, np.inf], [np.nan, 2.0]])).rows == [[1, None], [None, 2]]


@pytest.mark.parametrize("shape", [(33, 100), (1000, 31), (5, 7, 11, 65), (64, 32)])
def test_each_block_of_a_large_array_shows_its_largest_value(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 1000, shape).astype(float)
    place = tuple(size - 1 for size in shape)
    values[place] = 5000
    found = heat_map("x", values)
    matrix = values.reshape(-1, shape[-1])
    assert found.shape == list(matrix.shape)
    assert [len(found.rows), len(found.rows[0])] == [min(size, CELLS) for size in matrix.shape]
    assert found.rows[-1][-1] == 5000
    edges = [np.linspace(0, size, min(size, CELLS) + 1).astype(int) for size in matrix.shape]
    for row, (top, bottom) in enumerate(zip(edges[0], edges[0][1:], strict=False)):
        for column, (left, right) in enumerate(zip(edges[1], edges[1][1:], strict=False)):
            assert found.rows[row][column] == matrix[top:bottom, left:right].max()
