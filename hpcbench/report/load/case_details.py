"""Load the data of single cases and machines for figures, from records, timelines and measured peaks."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbench.analysis.cases.labels import label
from hpcbench.analysis.cases.observations import Observations
from hpcbench.analysis.cases.quantities import TIME, as_reported
from hpcbench.analysis.results import Results
from hpcbench.collect.power import power_over_time
from hpcbench.collect.windows import interference_windows, samples_over_time
from hpcbench.status.progress import Progress
from hpcbench.store.machine_peaks import read_peaks
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import print_warning


def observe(workspace: Workspace, progresses: Iterable[Progress], results: Results) -> Observations:
    """Return measurements, interference and power of the best case of the first workload, and all known machine peaks.

    Data that cannot be read are omitted, with a warning.
    """
    peaks = read_peaks(workspace, print_warning)
    if not results.workloads:
        return Observations(peaks=peaks)
    work = results.workloads[0]
    case = work.cases.iloc[0]
    progress = next(progress for progress in progresses if progress.sweep.description["name"] == case["sweep"])
    runs = [run for run in progress.runs if run.planned.case_id == case["case"]]
    records = [run.record for run in sorted(runs, key=lambda run: run.planned.run) if run.record]
    records = [record for record in records if record.times_s]
    return Observations(
        label(case, work.shown),
        samples_over_time(records),
        interference_windows(records),
        power_over_time(progress.sweep.paths, records),
        peaks,
        as_reported(TIME, work.cases).title,
    )
