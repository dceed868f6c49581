"""What the predicted time of a network is based on: measurements of its kinds of operators and of whole networks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed.measured import keys
from hpcbench.predict.operators.device_columns import device_names
from hpcbench.predict.results.table import COVERED, DEVICES, DISTANCE, MEASURED, OWN_ROWS, ROWS
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.families import families
from hpcbench.predict.time.model import OperatorTime

_FARTHEST = 3.0  # standard deviations of one operator that count: features that hardly vary in the data have tiny ones


def network_basis(
    kernels: pd.DataFrame,
    count: int,
    devices: Mapping[str, Device],
    time: OperatorTime,
    measured: Collection[str],
    whole: Mapping[str, int],
) -> pd.DataFrame:
    """Return what the time of each of `count` networks is based on: one row per place, with the columns OF_TIME.

    `kernels` has the columns of `sums.kernel_times`, `measured` the `keys` of operators that were measured on their
    device, and `whole` the number of measured whole networks by device.
    `basis_rows` counts the measurements of operators of the kinds in the network and of whole networks, on
    `basis_devices` devices; `device_rows` are those on the device itself. `covered_fraction` is the fraction of the
    time in kinds of operators with measurements, `measured_fraction` in operators that were measured on the device with
    the same sizes. `distance` is how far the operators are from the measured ones: the mean over the time, in standard
    deviations, of which each operator has at most 3; NaN without measurements.
    """
    places = pd.RangeIndex(count)
    if kernels.empty:
        return pd.DataFrame({ROWS: 0, DEVICES: 0, OWN_ROWS: 0, COVERED: 0.0, MEASURED: 0.0, DISTANCE: np.nan}, places)
    rows = table.complete(kernels)
    of = pd.DataFrame({"place": kernels["place"], "family": families(rows), "device": device_names(rows, devices)})
    counts = {
        place: _counts(set(each["family"]), each["device"].iloc[0], time.rows, whole)
        for place, each in of.drop_duplicates().groupby("place")
    }
    found = pd.DataFrame.from_dict(counts, orient="index", columns=[ROWS, DEVICES, OWN_ROWS])
    fractions = _fractions(rows, kernels, time.basis(rows, devices), measured)
    return found.reindex(places).fillna(0).join(fractions.reindex(places))


def own_fractions(
    kernels: pd.DataFrame, count: int, devices: Mapping[str, Device], operators: Mapping[str, int]
) -> Floats:
    """Return the fraction of the time of each of `count` networks in kinds of operators measured on its device.

    `operators` has the number of measurements by "family|device".
    """
    if kernels.empty:
        return np.zeros(count)
    rows = table.complete(kernels)
    is_own = (families(rows) + "|" + device_names(rows, devices)).isin(list(operators)).to_numpy()
    seconds = kernels["total_s"].to_numpy(dtype="float64")
    by_place = pd.DataFrame({"own": np.where(is_own, seconds, 0.0), "all": seconds}).groupby(
        kernels["place"].to_numpy()
    )
    found = by_place.sum().reindex(range(count))
    return (found["own"] / found["all"]).fillna(0.0).to_numpy()


def _fractions(
    rows: pd.DataFrame, kernels: pd.DataFrame, basis: pd.DataFrame, measured: Collection[str]
) -> pd.DataFrame:
    """Return COVERED, MEASURED and DISTANCE by place: means over the time of the kernels."""
    seconds = kernels["total_s"].to_numpy(dtype="float64")
    is_measured = np.array([key in measured for key in keys(rows)], dtype=bool)
    covered = np.where(basis["basis_rows"] > 0, seconds, 0.0)
    far = np.nan_to_num(basis["distance"].to_numpy(dtype="float64"))
    distance = np.where(is_measured, 0.0, np.minimum(far, _FARTHEST))
    parts = {"covered": covered, "measured": np.where(is_measured, seconds, 0.0), "distance": covered * distance}
    total = pd.DataFrame({"all": seconds, **parts}).groupby(kernels["place"].to_numpy()).sum()
    return pd.DataFrame(
        {
            COVERED: total["covered"] / total["all"],
            MEASURED: total["measured"] / total["all"],
            DISTANCE: total["distance"] / total["covered"].where(total["covered"] > 0),
        }
    )


def _counts(
    kinds: set[str], device: str, operators: Mapping[str, int], networks: Mapping[str, int]
) -> tuple[int, int, int]:
    """Return the numbers of measurements, of their devices, and of those on a device.

    `operators` has the measurements by "family|device", `networks` those by device.
    """
    found = [(key.split("|")[1], count) for key, count in operators.items() if key.split("|")[0] in kinds]
    found += networks.items()
    own = sum(count for name, count in found if name == device)
    return sum(count for _, count in found), len({name for name, _ in found}), own
