"""Which kernels a list launches, and what a fused one reads and writes."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.networks.listed.kernels import kernels
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import a_list, gemm, row_wise


def test_a_copy_of_a_few_numbers_launches_nothing() -> None:
    listed = a_list("net", gemm(64, 64, 64), row_wise(1, 1, kind=table.COPY), row_wise(1, 512, kind=table.COPY))
    assert list(kernels(listed)["columns"].dropna()) == [512.0]


def test_a_chain_of_pointwise_operators_is_one_pass_over_its_inputs_and_its_output() -> None:
    chain = [row_wise(1024, 64, inputs, fused_node="gelu", calls=calls) for inputs, calls in ((1, 3), (2, 1), (1, 1))]
    found = kernels(a_list("net", *chain))
    assert len(found) == 1
    assert found["bytes"].item() == 4.0 * 1024 * 64 * 3
    assert found["calls"].item() == 1


def test_a_reduction_keeps_its_cost_and_reads_the_extra_input_of_the_chain() -> None:
    softmax = row_wise(1024, 64, kind=table.SOFTMAX, function="softmax", fused_node="node")
    found = kernels(a_list("net", row_wise(1024, 64, 2, fused_node="node"), softmax))
    assert found["kind"].item() == table.SOFTMAX
    assert found["bytes"].item() == 4.0 * 1024 * 64 * 3


def test_a_pointwise_tail_of_a_product_costs_its_extra_inputs_only() -> None:
    found = kernels(a_list("net", gemm(256, 64, 32, fused_node="node"), row_wise(256, 64, 2, fused_node="node")))
    assert found["kind"].item() == table.GEMM
    assert found["bytes"].item() == 4.0 * (256 * 32 + 32 * 64 + 256 * 64) + 4.0 * 256 * 64


def test_fused_nodes_of_different_lists_stay_apart() -> None:
    both = pd.concat([a_list(name, row_wise(8, 64, fused_node="node")) for name in ("one", "two")], ignore_index=True)
    assert sorted(kernels(both)["list_id"]) == ["one", "two"]
