"""The time of whole networks from their operator lists, with intervals from left-out devices and networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.calibration.intervals import Calibration
from hpcbench.predict.calibration.stored import all_from_json, all_to_json
from hpcbench.predict.choice.ratios import PRIOR_OF_RATIOS, RatioErrors
from hpcbench.predict.devices.device import Device
from hpcbench.predict.measured.similar_operators import SimilarTime, similar_times
from hpcbench.predict.networks.listed import left_out, regular, targets
from hpcbench.predict.networks.listed.compiled import as_compiled
from hpcbench.predict.networks.listed.kernels import kernels
from hpcbench.predict.networks.listed.measured import MeasuredTime, measured_times
from hpcbench.predict.networks.listed.new_networks import sums_of_new_networks
from hpcbench.predict.networks.listed.observations import observations
from hpcbench.predict.networks.listed.predicted import ListedEstimate, log_times
from hpcbench.predict.networks.listed.ratio import SumRatio
from hpcbench.predict.networks.listed.refusals import reasons
from hpcbench.predict.networks.listed.regular import RegularTime
from hpcbench.predict.networks.listed.sums import kernel_times, sums
from hpcbench.predict.networks.listed.time_estimator import LeftOutEstimator, TimeEstimator
from hpcbench.predict.operators.device_columns import device_names
from hpcbench.predict.tables.operators import MOST_UNKNOWN
from hpcbench.predict.tables.prediction import TIME, Estimate, Floats
from hpcbench.predict.time.few_rows import MOST_FEW

_LEAST_SPREAD = 0.05  # of networks, as a logarithm: an assumption
_HOST_SPREAD = 0.4  # of the launches of a host, as a logarithm: hosts and versions differ by a factor of two


@dataclass(frozen=True)
class ListedNetworks:
    """A model of the time of networks with operator lists."""

    similar: SimilarTime
    operator_time: MeasuredTime
    ratio: SumRatio
    calibrations: Mapping[str, Calibration]  # by what is known of a device
    network_devices: frozenset[str]  # devices with measured whole networks
    operator_rows: Mapping[str, int]  # measured times of operators by device
    ratio_errors: RatioErrors  # of step times of two devices that a fit did not see

    def estimate(
        self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]
    ) -> dict[str, ListedEstimate]:
        """Return the times of a step, its forward pass and its backward pass, one value per row of `networks`.

        Rows without a device description, without a list, or with over 10 % of the time in operators of unknown kind
        are refused with a reason.
        """
        devices = self._with_fitted_names(devices)
        summed = self._sums(networks, lists, devices)
        known = frozenset(lists["list_id"])
        found = {}
        for quantity in targets.QUANTITIES:
            reason = reasons(networks, summed, known, devices, quantity)
            device, host = log_times(networks, summed, self.ratio, quantity, devices)
            found[quantity] = ListedEstimate(
                log_value=np.where(reason == "", np.fmax(device, host), np.nan),
                spread=_spread(summed, by_host=host > device),
                reason=reason,
                launches=np.exp(host - device),
            )
        return found

    def half_width(
        self, quantity: str, networks: pd.DataFrame, devices: Mapping[str, Device], estimate: Estimate
    ) -> Floats:
        """Return half the width of the 90 % intervals, as differences of logarithms.

        What is known of a device narrows its intervals: they are never wider than with less knowledge. Up to MOST_FEW
        measured operators of a device narrow its spread alone.
        """
        group = pd.Series(quantity, index=range(len(networks)))
        devices = self._with_fitted_names(devices)
        widths = [self.calibrations[name].half_width(group, estimate.spread) for name in left_out.FROM_LEAST]
        narrowest = dict(zip(left_out.FROM_LEAST, np.minimum.accumulate(widths), strict=True))
        known = [self._known_of(name, devices) for name in networks["device"]]
        return np.array([narrowest[name][place] for place, name in enumerate(known)], dtype="float64")

    def kernel_times(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        """Return the time of each kernel of each network: see `sums.kernel_times`. Unknown devices have no rows."""
        devices = self._with_fitted_names(devices)
        described = networks["device"].isin(list(devices)).to_numpy()
        places = np.flatnonzero(described)
        asked, listed = as_compiled(networks[described], lists)
        found = kernel_times(asked, kernels(listed), devices, self.operator_time, self.operator_time.devices)
        return found.assign(place=places[found["place"].to_numpy()])

    def launches(self, networks: pd.DataFrame, kernels: pd.DataFrame, devices: Mapping[str, Device]) -> Floats:
        """Return the time of the host as a multiple of that of the device for a step of each network, as of `estimate`.

        `kernels` is the result of `kernel_times` for the networks. Networks without kernels have NaN.
        """
        devices = self._with_fitted_names(devices)
        device, host = log_times(networks, sums(networks, kernels, devices), self.ratio, TIME, devices)
        return np.exp(host - device)

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON types, without the model of the operators that it does not cover itself."""
        return {
            "similar": self.similar.to_json(),
            "regular": self.operator_time.others.to_json(),
            "measured": self.operator_time.to_json(),
            "effects": dict(self.ratio.effects),
            "calibrations": all_to_json(self.calibrations),
            "network_devices": sorted(self.network_devices),
            "operator_rows": dict(self.operator_rows),
            "ratio_errors": asdict(self.ratio_errors),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], operator_time: TimeEstimator) -> ListedNetworks:
        """Return the model that `to_json` wrote, with a model of other operators.

        Raise KeyError if a field is missing.
        """
        similar = SimilarTime.from_json(data["similar"], operator_time)
        regular_time = RegularTime.from_json(data["regular"], similar)
        return cls(
            similar=similar,
            operator_time=MeasuredTime.from_json(data["measured"], regular_time),
            ratio=SumRatio(dict(data["effects"])),
            calibrations=all_from_json(data["calibrations"]),
            network_devices=frozenset(data["network_devices"]),
            operator_rows=data["operator_rows"],
            ratio_errors=RatioErrors(**data["ratio_errors"]),
        )

    def _sums(self, networks: pd.DataFrame, lists: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
        return sums(networks, self.kernel_times(networks, lists, devices), devices)

    def _with_fitted_names(self, devices: Mapping[str, Device]) -> dict[str, Device]:
        """Return the devices; one that the model was fitted on under another of its names has that name."""
        fitted = self.network_devices.union(self.operator_rows)
        names = {key: next((name for name in each.names if name in fitted), each.name) for key, each in devices.items()}
        return {key: replace(each, name=names[key]) for key, each in devices.items()}

    def _known_of(self, name: str, devices: Mapping[str, Device]) -> str:
        fitted = devices[name].name if name in devices else name
        if fitted in self.network_devices:
            return left_out.NETWORKS
        return left_out.OPERATORS if self.operator_rows.get(fitted, 0) > MOST_FEW else left_out.DESCRIPTION


def fit(
    networks: pd.DataFrame,
    lists: pd.DataFrame,
    devices: Mapping[str, Device],
    operators: pd.DataFrame,
    operator_time: LeftOutEstimator,
) -> ListedNetworks:
    """Return the model fitted on measured operators, and on measured networks with lists; others are left out.

    Networks that would be refused, because of operators of unknown kind, are left out, too.
    The model of `operator_time` predicts operators that neither regular groups nor measured streams of `operators`
    cover. In the calibrations, its fits that did not see the device or the operators predict them.
    """
    has_list = networks["list_id"].isin(list(lists["list_id"].unique())) & networks["device"].isin(list(devices))
    used, lists = as_compiled(networks[has_list].reset_index(drop=True), lists)
    similar = similar_times(operators, devices, operator_time.model)
    regular_time = regular.fit(operators, devices, similar)
    times = measured_times(operators, used["device"].unique(), regular_time)
    known = _rows(operators, devices)
    prior = ListedNetworks(similar, times, SumRatio({}), left_out.PRIOR, frozenset(), known, PRIOR_OF_RATIOS)
    if used.empty:
        return prior
    launched = kernels(lists)
    summed = sums(used, kernel_times(used, launched, devices, times, times.devices), devices)
    is_known = (summed["unknown"] <= MOST_UNKNOWN).to_numpy()
    if not is_known.any():
        return prior
    used = used[is_known].reset_index(drop=True)
    full = observations(used, summed[is_known].reset_index(drop=True), devices)
    new = full
    if times.devices:
        of_new = sums_of_new_networks(used, launched, devices, operators, times, operator_time)
        new = observations(used, of_new, devices)
    unseen = observations(used, _without(used, launched, devices, regular_time, operator_time), devices)
    return ListedNetworks(
        similar=similar,
        operator_time=times,
        ratio=full.ratio(np.ones(len(full.rows), dtype=bool)),
        calibrations=left_out.calibrations(full, new, unseen),
        network_devices=frozenset(full.rows["device"]),
        operator_rows=known,
        ratio_errors=left_out.errors_of_ratios(full, unseen),
    )


def _rows(operators: pd.DataFrame, devices: Mapping[str, Device]) -> dict[str, int]:
    """Return the number of measured times by device; each of the names of a device has the number of all of them."""
    timed = operators.loc[operators["time_s"] > 0, ["device"]]
    counts = timed.groupby(device_names(timed, devices))["device"].transform("size")
    return {str(name): int(count) for name, count in zip(timed["device"], counts, strict=True)}


def _without(
    networks: pd.DataFrame,
    launched: pd.DataFrame,
    devices: Mapping[str, Device],
    regular_time: RegularTime,
    operator_time: LeftOutEstimator,
) -> pd.DataFrame:
    """Return the sums of networks, each without the measured operators of its device."""
    found = []
    for name, rows in networks.groupby("device", sort=False):
        own = devices[str(name)].name
        without = replace(regular_time.without(own), others=operator_time.without(own))
        times = kernel_times(rows, launched, devices, without)
        found.append(sums(rows.reset_index(drop=True), times, devices).set_index(rows.index))
    return pd.concat(found).sort_index()


def _spread(summed: pd.DataFrame, by_host: np.ndarray) -> Floats:
    """Return the spread of the operators, or of the host if it determines the time."""
    return np.asarray(np.hypot(_LEAST_SPREAD, np.where(by_host, _HOST_SPREAD, summed["spread"].to_numpy())))
