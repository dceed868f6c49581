"""Sums of networks without their own measured operators."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.networks.listed import new_networks
from hpcbench.predict.networks.listed.kernels import kernels
from hpcbench.predict.networks.listed.measured import measured_times
from hpcbench.predict.networks.listed.new_networks import sums_of_new_networks
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import DEVICES, Constant, a_list, gemm, some_networks

LISTS = pd.concat([a_list("a", gemm(64, 64, 64)), a_list("b", gemm(64, 64, 96), gemm(64, 64, 128))], ignore_index=True)


def test_a_network_is_the_sum_of_operators_that_its_own_measurements_do_not_show() -> None:
    """Measured operators of a network do not count for it: the other model is used."""
    of_b = [{**gemm(64, 64, k), "device": "first", "timing": table.STREAM, "time_s": 2e-3} for k in (96, 128)]
    operators = table.complete(pd.DataFrame(of_b))
    times = measured_times(operators, ["first"], RegularTime(Constant(1e-3), {}, {}))
    networks = some_networks(*({"device": "first", "network": name, "list_id": name} for name in ("a", "b")))
    found = sums_of_new_networks(networks, kernels(LISTS), DEVICES, operators, times, Constant(1e-3))
    assert found["forward"].tolist() == pytest.approx([1e-3, 2 * 1e-3])
    shared = operators.assign(k=64.0)  # now those of a
    again = measured_times(shared, ["first"], RegularTime(Constant(1e-3), {}, {}))
    found = sums_of_new_networks(networks, kernels(LISTS), DEVICES, shared, again, Constant(3e-3))
    assert found["forward"].tolist() == pytest.approx([3e-3, 2 * 3e-3])


def test_similar_operators_are_those_of_other_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of similar operators of each network is fitted on the measured operators that its list lacks."""
    seen = []

    def similar_times(operators: pd.DataFrame, devices: object, others: Constant) -> Constant:
        seen.append(sorted(operators["k"]))
        return others

    monkeypatch.setattr(new_networks, "similar_times", similar_times)
    rows = [{**gemm(64, 64, k), "device": "first", "timing": table.STREAM, "time_s": 2e-3} for k in (64, 96, 160)]
    operators = table.complete(pd.DataFrame(rows))
    times = measured_times(operators, ["first"], RegularTime(Constant(1e-3), {}, {}))
    networks = some_networks(*({"device": "first", "network": name, "list_id": name} for name in ("a", "b")))
    sums_of_new_networks(networks, kernels(LISTS), DEVICES, operators, times, Constant(1e-3))
    assert seen == [[96, 160], [64, 160]]
