"""Load the data of single cases and machines for figures, from records, timelines and measured peaks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import label
from hpcbench.analysis.cases.observations import Observations
from hpcbench.analysis.cases.quantities import TIME, as_reported
from hpcbench.analysis.results import Results
from hpcbench.collect.curves import curves
from hpcbench.collect.power.over_time import power_over_time
from hpcbench.collect.windows import interference_windows, samples_over_time
from hpcbench.core.record import Record
from hpcbench.report.load.validation_maps import validation_maps
from hpcbench.status.progress import Progress
from hpcbench.store.machine_peaks import read_peaks
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import print_warning

MAX_CURVES = 8  # cases whose logged values are drawn


def observe(workspace: Workspace, progresses: Iterable[Progress], results: Results) -> Observations:
    """Return measurements, interference and power of the best case of the first workload, and all known machine peaks.

    Logged values are those of the best MAX_CURVES cases of this workload, each from its first run. Error maps are
    those of all validated cases.
    Data that cannot be read are omitted, with a warning.
    """
    peaks = read_peaks(workspace, print_warning)
    progresses = list(progresses)
    maps = validation_maps(progresses, results)
    if not results.workloads:
        return Observations(peaks=peaks, validations=maps)
    work = results.workloads[0]
    case = work.cases.iloc[0]
    sweeps = {progress.sweep.description["name"]: progress for progress in progresses}
    best = work.cases.head(MAX_CURVES)
    first = {label(each, work.shown): _measured(sweeps, each)[:1] for _, each in best.iterrows()}
    records = _measured(sweeps, case)
    return Observations(
        results.name_in_title(case),
        samples_over_time(records),
        interference_windows(records),
        power_over_time(sweeps[case["sweep"]].sweep.paths, records),
        curves({name: found[0] for name, found in first.items() if found}),
        peaks,
        maps,
        as_reported(TIME, work.cases).title,
    )


def _measured(sweeps: Mapping[str, Progress], case: pd.Series[Any]) -> list[Record]:
    """Return the records of a case with measurements, in the order of its runs."""
    runs = [run for run in sweeps[case["sweep"]].runs if run.planned.case_id == case["case"]]
    records = [run.record for run in sorted(runs, key=lambda run: run.planned.run) if run.record]
    return [record for record in records if record.times_s]
