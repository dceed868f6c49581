"""Sums of networks without their own measured operators."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.networks.listed import new_networks, regular
from hpcbench.predict.networks.listed.kernels import kernels
from hpcbench.predict.networks.listed.measured import measured_times
from hpcbench.predict.networks.listed.new_networks import sums_of_new_networks
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.tables import operators as table
from tests.predict.networks.listed.fleet_of_two import DEVICES, Constant, a_list, gemm, some_networks, some_operators

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


def test_the_efficiency_of_a_device_is_that_of_the_operators_of_other_networks() -> None:
    """The products of network `own` are slow: with them, those of the device have a low efficiency."""
    operators = pd.concat([some_operators("first", 0.2), some_operators("second", 0.8)], ignore_index=True)
    first = operators[operators["device"] == "first"]
    listed = a_list("own", *first[["kind", "function", "dtype", "phase", *table.SIZES]].to_dict("records"))
    fleet = regular.fit(operators, DEVICES, Constant(1.0))
    times = measured_times(first, ["first"], fleet)
    networks = some_networks({"device": "first", "network": "own", "list_id": "own"})
    found = sums_of_new_networks(networks, kernels(listed), DEVICES, operators, times, Constant(1.0))
    assert found["forward"].item() == pytest.approx(first["time_s"].sum() / 4, rel=0.05), "0.8, as on the other device"
