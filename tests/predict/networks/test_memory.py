"""What operators save for the backward pass."""

from __future__ import annotations

import pytest

from hpcbench.predict.networks.memory import saved_bytes
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import a_list, gemm, row_wise


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (gemm(64, 32, 16, kind=table.BATCHED_GEMM, batch=8), 8 * (64 * 16 + 16 * 32) * 4),
        (row_wise(8, 64, 2, function="mul"), 2 * 8 * 64 * 4),
        (row_wise(8, 64, 2, function="add"), 0),
        (row_wise(8, 64, function="relu"), 0),
        (row_wise(8, 64, function="dropout"), 8 * 64),
        (row_wise(8, 64, kind=table.POOLING, function="max_pool2d_with_indices"), 8 * 64 * 6),
        (row_wise(8, 64, function="gelu", dtype="float16", bytes=2.0 * 2 * 8 * 64), 8 * 64 * 2),
    ],
    ids=["bmm", "mul", "add", "relu", "dropout", "max pool", "gelu in float16"],
)
def test_what_an_operator_saves(operator: dict[str, object], expected: float) -> None:
    assert saved_bytes(a_list("one", operator)) == pytest.approx([expected])
