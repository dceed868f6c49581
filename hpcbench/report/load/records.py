"""Load the records of a sweep, for the commands that read results."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from hpcbench.collect.resource_usage import Charges
from hpcbench.collect.table import PARAMETERS, repetition_table
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.errors import UserError
from hpcbench.slurm.client import using
from hpcbench.slurm.job_energy import energy_of
from hpcbench.slurm.job_entry import Element
from hpcbench.status.progress import UNKNOWN, Progress, RunProgress
from hpcbench.status.query import or_records, query
from hpcbench.status.reconcile import unfinished_record
from hpcbench.store.run_record import run_record
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err, print_warning

Energies = dict[Element, dict[str, Any]]
SEVERAL = "the job has %d measured runs, and its counter has only their sum"


def latest_records(paths: SweepPaths) -> list[Record]:
    """Return the valid record of each run; print warnings and the number of runs that have not ended."""
    return records_of(surveyed(paths))


def surveyed(paths: SweepPaths) -> Progress:
    """Return the state of a sweep, read-only; print warnings and the number of runs without an outcome."""
    # The jobs of an archive may be from another cluster.
    progress = query(load(paths), ask_slurm=False) if paths.archive else or_records(query, load(paths))
    for warning in progress.warnings:
        print_warning(warning)
    _print_missing(progress)
    return progress


def _print_missing(progress: Progress) -> None:
    """Print how many runs have not ended, and how many are in an unknown state."""
    paths, of_all = progress.sweep.paths, f"of {len(progress.runs)} runs"
    unknown = 0 if paths.archive else sum(run.state == UNKNOWN for run in progress.runs)
    missing = sum(not run.ended for run in progress.runs) - unknown
    if missing:
        may_end = paths.archive or progress.active_runs or progress.follows_on  # an archive may be of a running sweep
        verbs, what = (("has", "have"), "not ended yet") if may_end else (("was", "were"), "not started")
        state = f"{verbs[missing > 1]} {what}"
        err.print(f"{paths.name}: {missing} {of_all} {state}", soft_wrap=True)
    if unknown:
        see = f"see: hpcbench status {paths.name}"
        verb = "is" if unknown == 1 else "are"
        err.print(f"{paths.name}: {unknown} {of_all} {verb} in an unknown state; {see}", soft_wrap=True)


def records_of(progress: Progress) -> list[Record]:
    """Return the valid record of each run, with Slurm's energy and the site's prices."""
    asks = progress.slurm_responded and not progress.sweep.paths.archive  # otherwise its job IDs may be of other jobs
    energies = _slurm_energies(progress) if asks else {}
    charges = Charges(progress.sweep)
    records = [(run, record_of(progress.sweep, run)) for run in progress.runs]
    placements = {job: progress.sweep.slurm(job).placement for job in progress.sweep.job_names}
    return [
        run_record(
            record,
            placement=placements[run.job],
            **energies.get(_place(run), {}),
            **charges.columns(run.job, record),
        )
        for run, record in records
    ]


def record_of(sweep: Sweep, run: RunProgress) -> Record:
    """Return the valid record of a run; a record without measurements if it has not ended."""
    return run.record or unfinished_record(sweep, run)


def cases_of(progress: Progress) -> pd.DataFrame:
    """Return a row for each case of a sweep, with the columns that can identify it."""
    one = {run.planned.case_id: run for run in sorted(progress.runs, key=lambda run: run.planned.case_index)}
    table = repetition_table([record_of(progress.sweep, run) for run in one.values()])
    user_parameters = [name for name in map(str, table) if name.startswith(USER_PARAMETER)]
    return table[["sweep", "case", *PARAMETERS, *user_parameters]]


def _slurm_energies(progress: Progress) -> Energies:
    """Return Slurm's energy in J of completed runs on exclusive nodes, as columns of records."""
    alone = [run for run in progress.runs if run.state == status.COMPLETED and progress.sweep.is_exclusive(run.job)]
    measured: Counter[Element] = Counter()  # number of attempts per job
    for run in alone:
        if run.slurm_id:
            measured[_place(run)] += run.attempts_of_job
    again = {place: {"energy_slurm_reason": SEVERAL % count} for place, count in measured.items() if count > 1}
    try:
        with using(progress.sweep.slurm_conf):
            counted = energy_of(measured.keys() - again.keys(), progress.sweep.other_cluster)
    except UserError as error:
        print_warning(f"{error.what}; energy by Slurm is left out")
        counted = {}
    return {**again, **{place: {"energy_slurm_j": joules} for place, joules in counted.items()}}


def _place(run: RunProgress) -> Element:
    return run.slurm_id or "", run.index or 0
