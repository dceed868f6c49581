"""Time, power and energy of requests to language models: a batch of prompts, and the generated tokens.

The prompt is bound by compute: 2 FLOPs per parameter and token. Each further token reads all weights and the cache of
keys and values once (R. Pope et al., "Efficiently scaling transformer inference", MLSys 2023, section 2). If the cache
of the batch exceeds the memory, the sequences run one group after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration, calibrated
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.devices.device import BFLOAT16, Device
from hpcbench.predict.operators.device_columns import of_rows
from hpcbench.predict.power.least_squares import relative
from hpcbench.predict.power.networks import log_errors
from hpcbench.predict.power.operators import SEEN, UNSEEN
from hpcbench.predict.power.requests.language_models import LanguageModel, language_model
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.element_bytes import element_bytes
from hpcbench.predict.tables.prediction import ENERGY, POWER, QUANTITIES, TIME, Estimate, Floats

# Both priors are rounded, and near the coefficients that fit the public set, which differ by at most 30 %.
# Parts of the time: reading weights, reading the cache, FLOPs of all tokens, and milliseconds per step of a token.
TIME_PRIOR = np.array([1.3, 1.5, 1.6, 2.0])
# Terms of the power: idle, and utilization by weights, by the cache, and by FLOPs.
POWER_PRIOR = np.array([0.30, 0.35, 0.9, 0.9])
_STEP_S = 1e-3  # the unit of the coefficient of steps
_USABLE_MEMORY = 0.9  # fraction of the memory of a device: the default of `gpu_memory_utilization` of vLLM
# Strength of the priors, and rows without an effect of a library. They are assumptions: half or twice a value changes
# the mean error of left-out models of the public set, which is 6 to 12 %, by at most 1 point.
_STRENGTH = 0.1
_ROWS_WITHOUT_EFFECT = 2.0
# Expected errors of logarithms, on measured devices and on others: assumptions, which calibrations scale.
SPREAD = {SEEN: 0.15, UNSEEN: 0.30}
# Half an interval over the expected error: the 90 % quantile of the size of normal errors, rounded up.
_PRIOR_FACTOR = 1.7
_COLUMNS = ("weights_s", "cache_s", "compute_s", "steps")


@dataclass(frozen=True)
class RequestPower:
    """Coefficients of the parts of time and of the terms of power, which carry over between devices."""

    time: Floats = field(default_factory=TIME_PRIOR.copy)
    power: Floats = field(default_factory=POWER_PRIOR.copy)
    devices: frozenset[str] = frozenset()
    libraries: Mapping[str, float] = field(default_factory=dict)  # effects on the logarithm of the power
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)

    def estimate(self, requests: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, Estimate]:
        """Return the time in seconds, power in watts and energy in joules of each row's batch of requests."""
        demand, reason = demands(requests, devices)
        board_w = of_rows(requests, devices, lambda device: device.board_power_w)
        parts = demand[list(_COLUMNS)].to_numpy(dtype="float64")
        effects = requests["library"].map(self.libraries).fillna(0.0).to_numpy(dtype="float64")
        with np.errstate(divide="ignore", invalid="ignore"):
            time_s = parts @ self.time
            fraction = np.minimum(_terms(parts, time_s) @ self.power * np.exp(effects), 1.0)
            log_time, log_power = np.log(time_s), np.log(fraction * board_w)
        spread = self.spread(requests)
        return {
            TIME: Estimate(log_time, spread, reason),
            POWER: Estimate(log_power, spread, reason),
            ENERGY: Estimate(log_time + log_power, spread, reason),
        }

    def spread(self, requests: pd.DataFrame) -> Floats:
        """Return the expected error of the logarithm of each row."""
        return np.where(requests["device"].isin(self.devices).to_numpy(), SPREAD[SEEN], SPREAD[UNSEEN])

    def half_width(self, requests: pd.DataFrame, quantity: str) -> Floats:
        """Return half the width of the 90 % intervals of a quantity, as differences of logarithms."""
        prior = _PRIOR_FACTOR * SPREAD[UNSEEN] * np.ones(len(requests))
        if quantity not in self.calibrations:
            return prior
        own = self.calibrations[quantity].half_width(requests["network"], self.spread(requests))
        return np.where(requests["device"].isin(self.devices).to_numpy(), own, np.maximum(own, prior))

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "time": [float(each) for each in self.time],
            "power": [float(each) for each in self.power],
            "devices": sorted(self.devices),
            "libraries": dict(sorted(self.libraries.items())),
            "calibrations": all_to_json(self.calibrations),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RequestPower:
        """Return the model that `to_json` returned."""
        return cls(
            np.array(stored["time"], dtype="float64"),
            np.array(stored["power"], dtype="float64"),
            frozenset(stored["devices"]),
            dict(stored["libraries"]),
            all_from_json(stored["calibrations"]),
        )


def demands(requests: pd.DataFrame, devices: Mapping[str, Device]) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the seconds at peak rates that each row demands, and why rows are refused."""
    found, reasons = [], []
    for row in requests.to_dict("records"):
        device = devices.get(row["device"])
        size = language_model(str(row["network"]), row["mparams"])
        refusal = _refusal(row, device, size)
        if refusal or device is None or size is None:
            reasons.append(refusal)
            found.append(dict.fromkeys(_COLUMNS, np.nan))
            continue
        weights = element_bytes(BFLOAT16) * size.parameters
        free = _USABLE_MEMORY * device.memory_bytes - weights
        reasons.append("" if free > 0 else "the weights of the model do not fit into the memory of the device")
        prompt, new, batch = row["sequence_length"], row["new_tokens"], row["batch_size"]
        cached = element_bytes(row["kv_dtype"] or BFLOAT16) * size.cached_per_token
        together = float(np.clip(free / (cached * (prompt + new)), 1.0, batch)) if free > 0 else 1.0
        steps = new * batch / together
        found.append(
            {
                "weights_s": steps * weights / device.memory_bytes_per_s,
                "cache_s": steps * together * cached * (prompt + new / 2) / device.memory_bytes_per_s,
                "compute_s": 2 * size.parameters * batch * (prompt + new) / device.flops_per_s(BFLOAT16),
                "steps": steps * _STEP_S,
            }
        )
    return pd.DataFrame(found, columns=list(_COLUMNS), index=requests.index), np.array(reasons, dtype=object)


def _refusal(row: Mapping[Any, Any], device: Device | None, size: LanguageModel | None) -> str:
    if device is None:
        return "the device has no description"
    if row["devices"] > 1:
        return "requests on several devices have no model"
    if size is None:
        return f"the size of the model {row['network']} is unknown: its name has no number of parameters, like 7b"
    if not (row["batch_size"] > 0 and row["sequence_length"] + row["new_tokens"] > 0):
        return "the batch size or the number of tokens is unknown or zero"
    return ""


def fit(networks: pd.DataFrame, devices: Mapping[str, Device]) -> RequestPower:
    """Return the model of all requests with time and power, calibrated by leaving one model out."""
    usable = networks[(networks["unit"] == table.REQUEST) & (networks["time_s"] > 0) & (networks["power_w"] > 0)]
    _, reason = demands(usable, devices)
    usable = usable[reason == ""]
    if usable.empty:
        return RequestPower()
    found = _fitted(usable, devices)
    names = usable["network"].unique()
    if len(names) < 2:
        return found
    errors = pd.concat(
        _errors(_fitted(usable[usable["network"] != name], devices), usable[usable["network"] == name], devices)
        for name in names
    )
    calibrations = {each: calibrated(errors.assign(error=errors[each]), shared=False) for each in QUANTITIES}
    return replace(found, calibrations=calibrations)


def _fitted(rows: pd.DataFrame, devices: Mapping[str, Device]) -> RequestPower:
    demand, _ = demands(rows, devices)
    parts = demand[list(_COLUMNS)].to_numpy(dtype="float64")
    time_s = rows["time_s"].to_numpy(dtype="float64")
    weights = np.ones(len(rows))
    fraction = rows["power_w"].to_numpy(dtype="float64") / of_rows(rows, devices, lambda device: device.board_power_w)
    found = RequestPower(
        relative(parts, time_s, TIME_PRIOR, _STRENGTH, weights),
        relative(_terms(parts, time_s), fraction, POWER_PRIOR, _STRENGTH, weights),
        frozenset(rows["device"]),
    )
    error = pd.Series(np.log(fraction / (_terms(parts, time_s) @ found.power)))
    by_library = error.groupby(rows["library"].to_numpy()).agg(["sum", "size"])
    # Effects are shrunk to 0, as if some more rows had none.
    effects = by_library["sum"] / (by_library["size"] + _ROWS_WITHOUT_EFFECT)
    return replace(found, libraries={str(name): float(each) for name, each in effects.items()})


def _terms(parts: Floats, time_s: Floats) -> Floats:
    return np.column_stack([np.ones(len(parts)), parts[:, :3] / time_s[:, None]])


def _errors(model: RequestPower, rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    predicted = model.estimate(rows, devices)
    labels = {"spread": SPREAD[SEEN], "group": rows["network"].to_numpy(), "cluster": rows["device"].to_numpy()}
    return pd.DataFrame({**log_errors(rows, predicted), **labels})
