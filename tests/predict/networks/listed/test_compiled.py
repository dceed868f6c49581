"""Chains of row-wise operators in compiled networks."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.predict.networks.listed.compiled import as_compiled, chains
from hpcbench.predict.networks.listed.listed_networks import fit
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import (
    DEVICES,
    Constant,
    a_list,
    gemm,
    row_wise,
    some_networks,
    some_operators,
)

LISTED = a_list(
    "net",
    gemm(64, 64, 64, calls=2),
    row_wise(64, 64, function="add", calls=2),
    row_wise(64, 64, function="gelu", calls=2),
    row_wise(64, 64, kind=table.LAYER_NORM, function="layer_norm", calls=2),
    row_wise(64, 128, function="add", calls=2),
    gemm(64, 64, 64, calls=2),
    row_wise(64, 128, function="add", calls=2),
)


def test_neighbours_of_equal_size_are_one_chain() -> None:
    found = list(chains(LISTED))
    assert found[1] == found[2] == found[3] != ""
    assert [found[place] for place in (0, 4, 5, 6)] == [""] * 4


@pytest.mark.parametrize(("execution", "kernels"), [("eager", 14), ("compiled", 10)])
def test_a_compiled_network_launches_one_kernel_for_a_chain(execution: str, kernels: int) -> None:
    model = fit(some_networks(), LISTED, DEVICES, some_operators("first", 0.8, count=1), Constant())
    asked = some_networks({"device": "first", "network": "net", "list_id": "net", "execution": execution})
    found = model.estimate(asked, LISTED, DEVICES)["time_s"]
    assert found.reason[0] == ""
    assert np.exp(found.log_value[0]) == pytest.approx(kernels * 1e-3)


def test_a_list_with_fused_kernels_is_not_changed() -> None:
    fused = a_list("net", row_wise(64, 64, fused_node="node"), row_wise(64, 64, fused_node="node"))
    asked = some_networks({"device": "first", "network": "net", "list_id": "net", "execution": "compiled"})
    assert as_compiled(asked, fused)[1] is fused
