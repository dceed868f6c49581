"""Made predictions of two cases on three devices, for tests of their texts, files and figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.config.pricing import Price
from hpcbench.config.site import Carbon
from hpcbench.predict.devices.device import Device
from hpcbench.predict.results.memory import MemoryRange
from hpcbench.predict.results.predictions import Explained, Predictions, Question, predict
from hpcbench.predict.results.state import State
from hpcbench.predict.tables import lists, prediction

SLOW_CLOCK = State(clock_mhz=960)
TIMES = {"a100-pcie-40": 0.100, "h100-sxm": 0.055, "l40s": 0.058, "unknown-device": float("nan")}
POWERS = {"a100-pcie-40": 230.0, "h100-sxm": 600.0, "l40s": 300.0, "unknown-device": float("nan")}


class MadeModels:
    """Models that answer by fixed numbers: times double with the second case, and 960 MHz saves power."""

    def predict_networks(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: object) -> dict[str, pd.DataFrame]:
        """Return times, powers and energies with intervals of 10 %."""
        slow = networks["clock_mhz"].notna().to_numpy()
        twice = np.where(networks["batch_size"] == 16, 2.0, 1.0)
        time = networks["device"].map(TIMES).to_numpy() * twice * np.where(slow, 1.2, 1.0)
        power = networks["device"].map(POWERS).to_numpy() * np.where(slow, 0.6, 1.0)
        reason = np.where(np.isnan(time), "description of device 'unknown-device' not found", "").astype(object)
        width = np.full(len(networks), np.log(1.1))
        return {
            name: prediction.table(np.log(values), width, reason)
            for name, values in (("time_s", time), ("power_w", power), ("energy_j", time * power))
        }

    def explained(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: object) -> Explained:
        """Return the same shares for each network, that it is limited by compute, and the same measurements."""
        shares = pd.DataFrame({"gemm": [0.7] * len(networks), "layer_norm": 0.3})
        own = np.where(networks["device"] == "l40s", 60, 0)
        basis = {"basis_rows": 312, "basis_devices": 5, "device_rows": own, "covered_fraction": 1.0}
        measured = {"measured_fraction": 0.0, "distance": 0.0, "power_devices": 2, "power_measured": own > 0}
        limits = pd.Series("compute", index=range(len(networks)))
        nothing = pd.Series("", index=limits.index)
        return Explained(shares, limits, pd.DataFrame({**basis, **measured}), nothing, limits.map({"compute": 1.0}))


def question(
    cases: int = 2, states: tuple[State, ...] = (SLOW_CLOCK,), devices: tuple[str, ...] = tuple(TIMES)
) -> Question:
    """Return the question of `cases` cases on the devices."""
    table = pd.DataFrame(
        {
            "case": ["c1", "c2"],
            "label": ["batch_size=8", "batch_size=16"],
            "items_per_step": [8, 16],
            "refused": "",
            "image_network": "",
            "unlisted": "",
            "batch_size": [8, 16],
            "list_id": ["c1", "c2"],
        }
    ).head(cases)
    known: dict[str, Device] = {}
    return Question(
        cases=table,
        lists=pd.DataFrame(columns=list(lists.COLUMNS)),
        states=dict.fromkeys(devices, states),
        devices=known,
        prices=dict.fromkeys(devices, lambda cores: Price(3.6)),
        carbon=Carbon(g_per_kwh=360.0, pue=1.0),
        memory={"c1": MemoryRange(2.0**30, 2.0**31, 2.0**32)},
    )


def made_predictions(asked: Question | None = None) -> Predictions:
    """Return the predictions of a question, by default of all cases, devices and states."""
    results, shares = predict(asked or question(), MadeModels(), measured=("l40s",))
    return Predictions("two-batches", results, shares, "model: fleet.json", "image", "EUR")
