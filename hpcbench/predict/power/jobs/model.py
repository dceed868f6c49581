"""Time, power and energy of training jobs by epoch, on other devices and under power limits.

The size of a data set is not in the measurements of jobs, so that times of epochs carry over only to the same network
on the same data. Ratios over power limits need no size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration, calibrated
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.devices.device import Device
from hpcbench.predict.power.jobs import curve as job_curve
from hpcbench.predict.power.jobs.curve import JobCurve, LimitedRuns
from hpcbench.predict.power.networks import WITHOUT_CLOCK, log_errors, without_clock
from hpcbench.predict.power.operating_point import OUT_OF_REACH
from hpcbench.predict.power.operators import SEEN, UNSEEN
from hpcbench.predict.tables import networks as table
from hpcbench.predict.tables.prediction import ENERGY, POWER, QUANTITIES, TIME, Estimate, Floats

JOB = ("network", "data")
# Expected errors of logarithms, of jobs on their device and on others: assumptions, which calibrations scale.
SPREAD = {SEEN: 0.08, UNSEEN: 0.35}
# Of the board power, of jobs without measurements: the median of the jobs of the public sets without a limit.
_TYPICAL_DEMAND = 0.88
# Half the widths of intervals without data, as logarithms. That of time is an assumption. Jobs of the public sets that
# wait for data draw down to a sixth of the typical power. That of energy is hypot(0.6, 1.7).
_PRIOR_HALF = {TIME: 0.6, POWER: 1.7, ENERGY: 1.8}
_REFERENCE = ["device", *JOB, "batch_size", "epoch_s", "demand"]


@dataclass(frozen=True)
class JobPower:
    """Curves over limits by device, and the times and demands of the measured jobs without a limit."""

    curves: Mapping[str, JobCurve] = field(default_factory=dict)
    typical: JobCurve = field(default_factory=JobCurve)
    references: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=_REFERENCE))
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)  # by quantity, and SEEN or UNSEEN

    def estimate(self, jobs: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, Estimate]:
        """Return the time in seconds, power in watts and energy in joules of an epoch of each row, by quantity."""
        ratio = self.relative(jobs, devices)
        epoch_s = self._epoch_s(jobs, devices)
        described = jobs["device"].isin(set(devices)).to_numpy()
        known = [f"no time of {row.network} on the data set {row.data} was measured, and its size is unknown"
                 for row in jobs.itertuples()]  # fmt: skip
        choices = {
            "the device has no description": ~described,
            WITHOUT_CLOCK: without_clock(jobs),
            OUT_OF_REACH: ratio["power_w"].isna().to_numpy(),
        }
        unpowered = np.select(list(choices.values()), list(choices), default="").astype(object)
        untimed = np.where((unpowered == "") & np.isnan(epoch_s), np.array(known, dtype=object), unpowered)
        log_time = np.log(epoch_s * ratio["time"].to_numpy())
        log_power = np.log(ratio["power_w"].to_numpy())
        spread = self.spread(jobs)
        return {
            TIME: Estimate(log_time, spread, untimed),
            POWER: Estimate(log_power, spread, unpowered),
            ENERGY: Estimate(log_time + log_power, spread, untimed),
        }

    def relative(self, jobs: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the effects of power limits, also for jobs that were not measured.

        `time` and `energy` are relative to the same job without a limit, `power_w` is in watts; NaN for devices without
        a description, and for limits below the idle power.
        """
        time, power = np.full(len(jobs), np.nan), np.full(len(jobs), np.nan)
        full = np.full(len(jobs), np.nan)
        demand = self._demand(jobs)
        for name, places in jobs.groupby("device", observed=True).indices.items():
            if name not in devices:
                continue
            board = devices[str(name)].board_power_w
            limit = np.minimum(jobs["power_limit_w"].iloc[places].fillna(board).to_numpy() / board, 1.0)
            curve = self.curves.get(str(name), self.typical)
            point, free = curve.run(demand[places], limit), curve.run(demand[places], np.ones(len(limit)))
            keeps = point.in_reach | jobs["power_limit_w"].iloc[places].isna().to_numpy()
            time[places] = np.where(keeps, point.time_s / free.time_s, np.nan)
            power[places] = np.where(keeps, point.power * board, np.nan)
            full[places] = free.power * board
        return pd.DataFrame({"time": time, "power_w": power, "energy": time * power / full}, index=jobs.index)

    def spread(self, jobs: pd.DataFrame) -> Floats:
        """Return the expected error of the logarithm of each row."""
        return np.where(self._is_seen(jobs), SPREAD[SEEN], SPREAD[UNSEEN])

    def half_width(self, jobs: pd.DataFrame, quantity: str) -> Floats:
        """Return half the width of the 90 % intervals of a quantity, as differences of logarithms.

        Networks without measurements have the interval of the prior, because calibrations are for networks that were
        measured, on this device or another one.
        """
        spread = self.spread(jobs)
        widths = {}
        for name in (SEEN, UNSEEN):
            calibration = self.calibrations.get(f"{quantity}/{name}")
            prior = np.full(len(jobs), _PRIOR_HALF[quantity])
            widths[name] = prior if calibration is None else calibration.half_width(jobs["network"], spread)
        of_known = np.where(self._is_seen(jobs), widths[SEEN], widths[UNSEEN])
        return np.where(jobs["network"].isin(self.references["network"]), of_known, _PRIOR_HALF[quantity])

    def _is_seen(self, jobs: pd.DataFrame) -> np.ndarray:
        keys = ["device", *JOB]
        known = set(self.references[keys].itertuples(index=False, name=None))
        return np.array([key in known for key in jobs[keys].itertuples(index=False, name=None)], dtype=bool)

    def _demand(self, jobs: pd.DataFrame) -> Floats:
        """Return the power without a limit: of the job on its device, of the job, of the network, or the typical."""
        found = np.full(len(jobs), np.nan)
        for keys in (["device", *JOB], list(JOB), ["network"]):
            for key, places in jobs.groupby(keys, observed=True).indices.items():
                same = _same(self.references, keys, key)
                if len(same):
                    value = _over_batch(same, jobs["batch_size"].iloc[places].to_numpy(), "demand")
                    found[places] = np.where(np.isnan(found[places]), value, found[places])
        return np.where(np.isnan(found), _TYPICAL_DEMAND, found)

    def _epoch_s(self, jobs: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
        """Return the time of an epoch without a limit in seconds, NaN for jobs that no device has run."""
        found = np.full(len(jobs), np.nan)
        keys = ["device", *JOB]
        for places in jobs.groupby(keys, observed=True).indices.values():
            name, *job = jobs[keys].iloc[places[0]]
            same = _same(self.references, list(JOB), tuple(job))
            own = same[same["device"] == name]
            batches = jobs["batch_size"].iloc[places].to_numpy()
            if len(own):
                found[places] = _over_batch(own, batches, "epoch_s")
            elif name in devices:
                usable = [(each, rows) for each, rows in same.groupby("device") if each in devices]
                logs = [
                    np.log(_over_batch(rows, batches, "epoch_s") * slowness(devices[str(each)], devices[name]))
                    for each, rows in usable
                ]
                if logs:
                    found[places] = np.exp(np.mean(logs, axis=0))
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types."""
        return {
            "curves": {name: each.to_json() for name, each in sorted(self.curves.items())},
            "typical": self.typical.to_json(),
            "references": self.references.to_dict("list"),
            "calibrations": all_to_json(self.calibrations),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> JobPower:
        """Return the model that `to_json` returned."""
        return cls(
            {name: JobCurve.from_json(each) for name, each in stored["curves"].items()},
            JobCurve.from_json(stored["typical"]),
            pd.DataFrame(stored["references"], columns=_REFERENCE),
            all_from_json(stored["calibrations"]),
        )


def slowness(of: Device, on: Device) -> float:
    """Return the expected time on a device over that on another one.

    It is the geometric mean of the ratios of float32 rates and of bandwidths: training is bound by both in turn.
    """
    rates = of.vector_flops_per_s / on.vector_flops_per_s
    return float(np.sqrt(rates * of.memory_bytes_per_s / on.memory_bytes_per_s))


LeftOutJobs = Sequence[tuple[pd.DataFrame, dict[str, Estimate]]]


def left_out_devices(networks: pd.DataFrame, devices: Mapping[str, Device]) -> LeftOutJobs:
    """Return the jobs of each device with their estimates by a model of the other devices; none for one device."""
    usable = _usable(networks, devices)
    found = []
    for name in usable["device"].unique() if usable["device"].nunique() > 1 else ():
        out = (usable["device"] == name).to_numpy()
        found.append((usable[out], _fitted(usable[~out], devices).estimate(usable[out], devices)))
    return found


def fit(networks: pd.DataFrame, devices: Mapping[str, Device], left_out: LeftOutJobs = ()) -> JobPower:
    """Return the model of all rows by epoch with time and power, calibrated by `left_out_devices`."""
    usable = _usable(networks, devices)
    if usable.empty:
        return JobPower()
    found = _fitted(usable, devices)
    errors: dict[str, list[pd.DataFrame]] = {
        SEEN: [],
        UNSEEN: [_errors(rows, estimates) for rows, estimates in left_out],
    }
    fold = usable.groupby(["device", *JOB, "batch_size"], observed=True).ngroup().to_numpy() % 2 == 0
    if fold.any() and not fold.all():
        errors[SEEN].append(_errors(usable[fold], _fitted(usable[~fold], devices).estimate(usable[fold], devices)))
    calibrations = {
        f"{quantity}/{name}": calibrated(pooled.assign(error=pooled[quantity]), shared=name == UNSEEN)
        for name, pooled in (
            (name, pd.concat(each).dropna(subset=list(QUANTITIES))) for name, each in errors.items() if each
        )
        for quantity in QUANTITIES
        if len(pooled)
    }
    return replace(found, calibrations=calibrations)


def _usable(networks: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    return networks[
        (networks["unit"] == table.EPOCH)
        & networks["device"].isin(set(devices))
        & (networks["time_s"] > 0)
        & (networks["power_w"] > 0)
        & ~without_clock(networks)
    ]


def _fitted(rows: pd.DataFrame, devices: Mapping[str, Device]) -> JobPower:
    runs: dict[str, LimitedRuns] = {}
    references = []
    for name, each in rows.groupby("device", observed=True):
        limited, reference = _runs(each, devices[str(name)].board_power_w)
        references.append(reference.assign(device=str(name)))
        if len(limited.time):
            runs[str(name)] = limited
    prior = JobCurve()
    own = {name: job_curve.fit(each, prior) for name, each in runs.items()}
    typical = prior
    if runs:
        first, *others = runs.values()
        for other in others:
            first = first.joined(other)
        typical = job_curve.fit(first, prior)
    return JobPower(own, typical, pd.concat(references, ignore_index=True)[_REFERENCE])


def _runs(rows: pd.DataFrame, board: float) -> tuple[LimitedRuns, pd.DataFrame]:
    """Return the runs of one device relative to those at the highest limit, and the latter as references."""
    keys = [*JOB, "batch_size", "optimizer"]
    limit = np.minimum(rows["power_limit_w"].fillna(board) / board, 1.0)
    relative = rows.assign(limit=limit, fraction=rows["power_w"] / board)
    top = relative.sort_values("limit").groupby(keys, observed=True, dropna=False).tail(1)
    references = top.rename(columns={"time_s": "epoch_s", "fraction": "demand"})[
        [*JOB, "batch_size", "epoch_s", "demand"]
    ]
    joined = relative.merge(
        top[[*keys, "time_s", "fraction"]].rename(columns={"time_s": "free_s", "fraction": "demand"}), on=keys
    )
    arrays = {
        name: joined[name].to_numpy(dtype="float64") for name in ("demand", "limit", "time_s", "free_s", "fraction")
    }
    limited = LimitedRuns(arrays["demand"], arrays["limit"], arrays["time_s"] / arrays["free_s"], arrays["fraction"])
    return limited, references


def _errors(rows: pd.DataFrame, predicted: Mapping[str, Estimate]) -> pd.DataFrame:
    labels = {
        "spread": predicted[TIME].spread,
        "group": rows["network"].to_numpy(),
        "cluster": rows["device"].to_numpy(),
    }
    return pd.DataFrame({**log_errors(rows, predicted), **labels})


def _same(references: pd.DataFrame, keys: list[str], key: Any) -> pd.DataFrame:
    values = key if isinstance(key, tuple) else (key,)
    mask = np.ones(len(references), dtype=bool)
    for name, value in zip(keys, values, strict=True):
        mask &= (references[name] == value).to_numpy()
    return references[mask]


def _over_batch(rows: pd.DataFrame, batches: Floats, quantity: str) -> Floats:
    """Return a quantity at batch sizes: a line between the logarithms of the two nearest measured ones.

    For an unknown batch size, return the geometric mean over the measured batch sizes. If all of these are unknown,
    return the mean of the rows.
    """
    mean = np.log(rows.groupby("batch_size", dropna=False)[quantity].mean())
    known = mean[mean.index.notna()]
    if known.empty:
        return np.full(len(batches), np.exp(mean.iloc[0]))
    at = np.interp(np.log(batches), np.log(known.index.to_numpy(dtype="float64")), known.to_numpy())
    return np.asarray(np.exp(np.where(np.isnan(batches), known.mean(), at)), dtype="float64")
