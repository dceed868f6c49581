"""The power models of measured devices, and of all others."""

import numpy as np
import pytest

from hpcbench.predict.power import power_fleet
from hpcbench.predict.power.device_power import TYPICAL
from hpcbench.predict.power.networks import measured_rows as measured_steps
from hpcbench.predict.power.operators import measured_rows
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps


def test_unmeasured_operators_follow_measured_operators_and_networks_follow_networks() -> None:
    rows = operators(("other",), count=200)
    hotter = rows.assign(power_w=np.minimum(1.3 * rows["power_w"], 0.9 * 400.0))
    of_steps = {name: each for name, (_, each) in measured_steps(steps(), lists(), DEVICES).items()}
    found = power_fleet.fit(of_steps, measured_rows(hotter, DEVICES))
    assert set(found.measured) == {"card", "other"}
    measured = measured_rows(hotter, DEVICES)["other"]
    as_operators, as_steps = (
        float(np.mean(model.power(measured.activity, measured.time_s, measured.clock)))
        for model in (found.of_operators("new"), found.of("new"))
    )
    assert as_operators > 1.03 * as_steps
    assert found.of("card") is found.of_operators("card")


def test_many_rows_are_thinned_to_a_fixed_weight() -> None:
    rows = measured_rows(operators(("card",), count=90), DEVICES)["card"]
    thinned = power_fleet.thin(rows, most=45)
    assert len(thinned.power) == 45
    assert thinned.weights.sum() == pytest.approx(30.0)


def test_without_data_all_devices_are_typical() -> None:
    found = power_fleet.fit({}, {})
    assert found.of("anything").coefficients == pytest.approx(TYPICAL.coefficients)
