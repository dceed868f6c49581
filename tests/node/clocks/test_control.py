"""The choice of equally spaced clocks."""

from __future__ import annotations

import pytest

from hpcbench.node.clocks.control import spread


@pytest.mark.parametrize(
    ("values", "number", "lowest", "expected"),
    [
        (range(100, 1001, 100), 4, 400, [400, 600, 800, 1000]),
        (range(100, 1001, 100), 1, 400, [1000]),
        (range(100, 1001, 100), 2, 0, [100, 1000]),
        ([500, 1000], 5, 400, [500, 1000]),
        ([1000], 3, 400, [1000]),
        ([300], 3, 400, [300]),
        ([], 3, 400, []),
        ([1, 2], 0, 0, []),
    ],
)
def test_values_from_the_lowest_to_the_largest(
    values: list[int], number: int, lowest: int, expected: list[int]
) -> None:
    assert spread(list(values), number, lowest) == expected
