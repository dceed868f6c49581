"""The sentence on the fastest devices of a case that the host limits on all of them."""

from __future__ import annotations

import pytest

from hpcbench.predict.results.table import TIME
from hpcbench.report.predictor.text.summary import Wanted, recommendations
from tests.report.predictor.made_predictions import made_predictions, question


@pytest.mark.parametrize(
    ("times", "limits", "devices"),
    [
        ((0.1, 0.1, 0.1), "LLL", "a100-pcie-40, h100-sxm and l40s"),
        ((0.11, 0.1, 0.1005), "CLL", "the fastest devices, h100-sxm and l40s"),
        ((0.11, 0.1, 0.1005), "LLL", "the fastest devices, h100-sxm and l40s"),
        ((0.11, 0.1, 0.1005), "LLC", ""),  # the host does not limit the time on one of the fastest devices
        ((0.11, 0.1, 0.102), "LLL", ""),  # no other device is as fast
    ],
)
def test_the_fastest_devices_of_a_case_that_the_host_limits_are_not_compared(
    times: tuple[float, ...], limits: str, devices: str
) -> None:
    made = made_predictions(question(1, states=()))
    rows = made.results[made.results["device"] != "unknown-device"]
    own = rows.assign(time_s=times, time_s_pi_low=[0.5 * each for each in times], time_s_pi_high=0.2)
    names = {"L": "launch", "C": "compute"}
    (text,) = recommendations(own.assign(limit=[names[each] for each in limits]), made, Wanted((TIME,)))
    if devices:
        assert text == (
            f"The host limits the time on {devices}: it launches kernels more slowly than these devices run them. "
            "To compare these devices, predict a larger batch."
        )
    else:
        assert text.startswith("Inconclusive: ")
