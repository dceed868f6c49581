"""Predict the cases of a plan on the devices on which they will run."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

import hpcbench
from hpcbench.collect.operator_lists.lists import operator_lists
from hpcbench.commands.options.predict_options import PredictOptions
from hpcbench.commands.shared.predictions.case_devices import CaseDevices, Find, devices_of, named, of_machine
from hpcbench.commands.shared.predictions.listing import print_listing
from hpcbench.commands.shared.predictions.models import models_of
from hpcbench.commands.shared.predictions.partition_devices import of_partitions
from hpcbench.commands.shared.progress_bar import shown_after_a_while
from hpcbench.config.site import Site
from hpcbench.doctor.this_machine import this_machine
from hpcbench.plan.plan import Plan
from hpcbench.predict.devices.device import GPU, PEAKS_UNDER_LOAD, Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.predict.results.listed_cases import ListedCases, listed_cases
from hpcbench.predict.results.predictions import Question, predict
from hpcbench.predict.results.table import ENERGY, MEMORY, POWER, TIME, limits_of
from hpcbench.report.load.devices import known_devices
from hpcbench.report.text.numbers import memory
from hpcbench.store.predictions import SCHEMA, CasePrediction, Estimate, PredictedDevice, SweepPredictions
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, print_warning, print_warnings
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet

_AT_ONCE = 100  # cases between two updates of the progress bar


def predict_sweep(plan: Plan, workspace: Workspace, options: PredictOptions) -> SweepPredictions:
    """Return the predictions of the cases of a plan; a case without one has the reason. Print their number.

    Raise UserError if a given device or model file is unknown, or if the device of every case is unknown.
    """
    models = models_of(workspace, options.model)
    known = known_devices(workspace, models.fleet.devices)
    devices = devices_of(plan.cases, _finder(plan.site, known, options.devices))
    fleet = models.fleet
    asked = [case for case in plan.cases if case.id not in devices.unknown]
    listed = operator_lists(asked, plan.site, workspace, print_listing)
    cases = _predictions(listed_cases(plan.cases, listed), devices, fleet)
    found = SweepPredictions(
        SCHEMA,
        datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        hpcbench.__version__,
        models.words,
        models.sha256,
        fleet.basis.data_hash if fleet.basis.rows else None,
        [_described(each) for each in devices.devices.values()],
        cases,
    )
    _print_count(found, models.advice)
    print_warnings(f"{each.name}: {PEAKS_UNDER_LOAD}" for each in found.devices if each.peaks_under_load)
    models.warn_of_flaws()
    _warn_of_memory(cases, devices.devices)
    return found


def _finder(site: Site, known: KnownDevices, names: Sequence[str]) -> Find:
    if names:
        return named(names, known)
    return of_partitions(site, known) if site.scheduler == "slurm" else of_machine(this_machine(), known)


def _predictions(listed: ListedCases, devices: CaseDevices, fleet: Fleet) -> list[CasePrediction]:
    """Return the predictions of all cases in their order."""
    undescribed = {case: error.what for case, error in devices.unknown.items()}
    asked = zip(listed.cases["case"], listed.cases["refused"], strict=True)
    rows = listed.cases.assign(refused=[undescribed.get(case, reason) for case, reason in asked])
    refused = rows["refused"] != ""
    found = {row["case"]: CasePrediction(row["case"], row["label"], reason=row["refused"]) for row in _rows(rows)}
    known = rows[~refused]
    with shown_after_a_while("predicting") as progress:
        for name, own in known.groupby(known["case"].map(devices.names), sort=False):
            for place in range(0, len(own), _AT_ONCE):
                part = own.iloc[place : place + _AT_ONCE]
                found |= {each.case: each for each in _on_device(part, listed, devices.devices[str(name)], fleet)}
                progress(sum(each.device is not None for each in found.values()), len(known))
    return list(found.values())


def _described(device: Device) -> PredictedDevice:
    clock = device.boost_mhz if device.kind == GPU else None
    return PredictedDevice(device.name, device.kind, list(device.names), device.source, clock, device.peaks_under_load)


def _rows(table: pd.DataFrame) -> list[dict[Any, Any]]:
    return table.to_dict("records")


def _on_device(cases: pd.DataFrame, listed: ListedCases, device: Device, fleet: Fleet) -> Iterator[CasePrediction]:
    """Yield the predictions of cases on one device in its default state."""
    from hpcbench.predict.results.fleet_models import FleetModels, measured_devices

    devices = {device.name: device}
    question = Question(cases, listed.lists, {device.name: ()}, devices, memory=listed.memory)
    results, _ = predict(question, FleetModels(fleet), measured_devices(fleet, devices))
    for row in _rows(results):
        reason = "; ".join(filter(None, (row["reason"], row["missing"]))) or None
        values = {name: _estimate(row, name) for name in (TIME, POWER, ENERGY, MEMORY)}
        yield CasePrediction(row["case"], row["label"], device.name, **values, reason=reason)


def _estimate(row: Mapping[Any, Any], quantity: str) -> Estimate | None:
    """Return a quantity of a row of results; None if it is unknown."""
    value, low, high = (float(row[name]) for name in (quantity, *limits_of(quantity)))
    found = Estimate(value, low, high)
    return found if found.is_valid else None


def _print_count(found: SweepPredictions, advice: str) -> None:
    """Print how many cases are predicted, where and by which models; as a warning, if none is."""
    count = len(found.predicted)
    if not count:
        reason = found.cases[0].reason if found.cases else "the sweep has no cases"
        print_warning(f"no case is predicted: {reason}")
        return
    names = ", ".join(dict.fromkeys(each.device for each in found.predicted if each.device))
    err.print(f"predicted {count:,} of {plural(len(found.cases), 'case')} on {names}", soft_wrap=True, markup=False)
    err.print(": ".join(filter(None, (found.model, advice))), soft_wrap=True, markup=False)


def _warn_of_memory(cases: Sequence[CasePrediction], devices: Mapping[str, Device]) -> None:
    """Print a warning if the predicted memory of a case exceeds that of its device."""
    too_large = [
        each
        for each in cases
        if each.memory_bytes and each.device and each.memory_bytes.value > devices[each.device].memory_bytes
    ]
    if too_large:
        first = too_large[0]
        name = first.label or first.case
        size = memory(devices[str(first.device)].memory_bytes)
        what = f"{plural(len(too_large), 'case')} may run out of memory, the first: {name}"
        print_warning(f"{what} (predicted {memory(first.memory_bytes and first.memory_bytes.value)}, device {size})")
