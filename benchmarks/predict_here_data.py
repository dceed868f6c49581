"""The measurements of benchmarks/predict_here.py: what models are fitted on, and what they are compared with."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.collect.profiles.table import operator_table
from hpcbench.collect.table import repetition_table
from hpcbench.commands.shared.predictor_data import described
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.samples import INTERFERENCE
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.predict.evaluation.evaluate import without_targets
from hpcbench.predict.fleet import fit
from hpcbench.predict.measured.data_set import of_runs
from hpcbench.predict.sets.data_set import DataSet, merged
from hpcbench.report.load.devices import known_devices
from hpcbench.report.load.records import latest_records
from hpcbench.store.workspace import Workspace


@dataclass(frozen=True)
class Measured:
    """The runs of sweeps by name, the profile of all of them, and the devices of their workspace."""

    runs: dict[str, pd.DataFrame]
    profile: pd.DataFrame
    devices: KnownDevices

    @property
    def device(self) -> str:
        """Return the name of the CPUs."""
        return str(next(iter(self.runs.values()))["cpu_model"].dropna().iloc[0])

    @property
    def cases(self) -> pd.DataFrame:
        """Return the completed cases: `case`, `group`, `shown`, `time_s`, and whether a run had `interference`.

        `time_s` is the mean of the runs of a case, of those without interference if there are any. `difference` is the
        time of the longest run minus that of the shortest, divided by the mean; NaN for a single run.
        """
        runs = pd.concat(self.runs.values(), ignore_index=True)
        runs = runs[runs["status"] == "completed"]
        times = [float(np.nanmedian(np.asarray(each, dtype="float64"))) for each in runs["times_s"]]
        shown = [
            f"{row['model']}, {row['task']}, batch size {row['batch_size']}{_length(row['model_options'])}"
            for row in runs.to_dict("records")
        ]
        rows = pd.DataFrame(
            {
                "case": runs["case"],
                "group": runs[f"{USER_PARAMETER}what"],
                "shown": shown,
                "time_s": times,
                "interference": runs["interference"] == INTERFERENCE,
            }
        )
        is_used = rows.groupby("case")["interference"].transform("all") | ~rows["interference"]
        cases = rows[is_used].groupby(["case", "group", "shown"], sort=False, as_index=False)
        found = cases.agg(
            time_s=("time_s", "mean"),
            shortest=("time_s", "min"),
            longest=("time_s", "max"),
            runs=("time_s", "size"),
            interference=("interference", "any"),
        )
        difference = ((found["longest"] - found["shortest"]) / found["time_s"]).where(found["runs"] > 1)
        return found.assign(difference=difference).drop(columns=["shortest", "longest", "runs"])

    @property
    def has_interference(self) -> bool:
        """Return whether a run had interference."""
        return any((runs["interference"] == INTERFERENCE).any() for runs in self.runs.values())

    def data(self, only: str = "", without: str = "") -> DataSet:
        """Return the data set of the runs and operators of all models, of only one, or of all without one."""
        found = []
        for name, runs in self.runs.items():
            own = self.profile[self.profile["sweep"] == name]
            kept = [_of_model(table, only, without) for table in (runs, own)]
            found.append(of_runs(kept[0], name, kept[1]))
        return described(merged(*found), self.devices)


def measured(folder: Path, names: Sequence[str]) -> Measured:
    """Return the measurements of sweeps in a workspace."""
    workspace = Workspace(folder)
    runs, profiles = {}, []
    for name in names:
        paths = workspace.find(name)
        records = latest_records(paths)
        runs[name] = repetition_table(records)
        profiles.append(operator_table(paths, [each for each in records if each.measure.get("profile")]).frame)
    return Measured(runs, pd.concat(profiles, ignore_index=True), known_devices(workspace))


def without_one_network(own: Measured) -> Iterator[dict[Hashable, Any]]:
    """Yield `network`, `phase`, `time_s` and `predicted` of each profiled network, left out of the fit."""
    for name in own.profile["model"].dropna().unique():
        fleet = fit(own.data(without=name))
        asked = own.data(only=name)
        blind = without_targets(asked)
        times = fleet.predict_networks(blind.networks, blind.lists, blind.devices)["time_s"]
        found = asked.networks.assign(predicted=times["predicted"])
        yield from found[["network", "phase", "time_s", "predicted"]].to_dict("records")


def _of_model(table: pd.DataFrame, only: str, without: str) -> pd.DataFrame:
    models = table["model"].fillna("")
    return table[(models == only) if only else (models != without) | (without == "")]


def _length(options: str) -> str:
    length = json.loads(options or "{}").get("sequence_length")
    return f", length {length}" if length else ""
