"""Predictions of all rows and targets of a data set, in the units of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.sets.data_set import DataSet
from hpcbench.predict.tables.network_kinds import JOB, network_kinds
from hpcbench.predict.tables.prediction import VALUES

if TYPE_CHECKING:
    from hpcbench.predict.fleet import Fleet

COLUMNS = ("file", "row", "quantity", "predicted", "lower", "upper", "reason")


def answers(fleet: Fleet, data: DataSet) -> pd.DataFrame:
    """Return one line per row and target column, in the order of files and rows.

    `predicted`, `lower` and `upper` are in the unit of the column, and NaN if `reason` is not empty.
    """
    of_operators = fleet.predict_operators(data.operators, data.devices)
    of_networks = fleet.predict_networks(data.networks, data.lists, data.devices)
    found = []
    for file, format_ in data.files.items():
        for order, target in enumerate(format_.targets):
            for table, predicted in ((data.operators, of_operators), (data.networks, of_networks)):
                rows = table[table["file"] == file]
                if rows.empty:
                    continue
                values = predicted[target.quantity].loc[rows.index]
                scaled = values[list(VALUES)] / target.unit
                lines = scaled.assign(reason=values["reason"], file=file, row=rows["row"], quantity=target.column)
                found.append(lines.assign(order=order))
    if not found:
        return pd.DataFrame(columns=list(COLUMNS))
    places = {file: place for place, file in enumerate(data.files)}
    every = pd.concat(found)
    every["place"] = every["file"].map(places)
    return every.sort_values(["place", "row", "order"], ignore_index=True)[list(COLUMNS)]


def relative_energies(fleet: Fleet, data: DataSet) -> pd.DataFrame:
    """Return the energy of each training job relative to that without a power limit: `file`, `row`, `quantity`.

    It orders power limits, also for a job whose epoch has an unknown size, so that its energy is refused.
    """
    jobs = data.networks[network_kinds(data.networks) == JOB].reset_index(drop=True)
    columns = {
        file: [each.column for each in format_.targets if each.quantity == "energy_j"]
        for file, format_ in data.files.items()
    }
    energy = fleet.power.jobs.relative(jobs, data.devices)["energy"].to_numpy()
    found = jobs[["file", "row"]].assign(relative=energy)
    found["quantity"] = found["file"].map(lambda file: next(iter(columns.get(file, [])), ""))
    return found
