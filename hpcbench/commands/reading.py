"""What the commands that read results share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
import pandas as pd
from rich.markup import escape

from hpcbench.collect.energy import OF_SLURM, SLURM_REASON
from hpcbench.collect.occupied import Charges
from hpcbench.collect.progress import Progress, RunProgress, unfinished_record
from hpcbench.collect.records import Record
from hpcbench.collect.survey import survey, survey_or_records
from hpcbench.collect.table import PARAMETERS
from hpcbench.commands.common import err, opened_archives
from hpcbench.config.parameters import TAG
from hpcbench.errors import UserError
from hpcbench.node import outcomes
from hpcbench.submit.queue import Element
from hpcbench.submit.slurm_energy import energy_of
from hpcbench.submit.sweep import load
from hpcbench.workspace import SweepPaths

Energies = dict[Element, dict[str, Any]]
SEVERAL = "the job measured %d times, and its counter does not tell which time took what"


@contextmanager
def archives_of_anybody() -> Iterator[None]:
    """For commands that may read an archive: the files in it may hold what hpcbench would never write."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        archives = opened_archives(click.get_current_context())
        if not archives:
            raise
        what = f"holds what hpcbench does not write: {type(error).__name__}: {error}"
        raise UserError(what, where=", ".join(map(str, archives))) from error


class Results(NamedTuple):
    """What a sweep has to tell: the latest record of each repetition, with what else a table wants to know of it."""

    progress: Progress
    records: list[Record]


def latest_records(paths: SweepPaths) -> list[Record]:
    """The latest record of each repetition, after a word on what is still missing."""
    return results_of(paths).records


def results_of(paths: SweepPaths) -> Results:
    """The same, with where each repetition stands."""
    if paths.archive is None:
        progress = survey_or_records(load(paths))
        energies = _slurm_energies(progress)
    else:  # the Slurm that may be here knows nothing of it
        progress, energies = survey(load(paths), ask_slurm=False), {}
    for warning in progress.warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    missing = sum(not run.ended for run in progress.runs)
    if missing:
        err.print(f"{paths.name}: {missing} of {len(progress.runs)} repetitions have not ended yet")
    charges = Charges(progress.sweep)
    records = [_told(run, charges, energies, progress) for run in progress.runs]
    return Results(progress, records)


def _told(run: RunProgress, charges: Charges, energies: Energies, progress: Progress) -> Record:
    """Its record, or a row that stands for it, with what Slurm has counted and what the site charges."""
    record = run.record or unfinished_record(progress.sweep, run)
    return {**record, **energies.get(_place(run), {}), **charges.columns(run.job, record)}


def _slurm_energies(progress: Progress) -> Energies:
    """What Slurm has counted, as a record has it, of completed repetitions that had their nodes to themselves."""
    alone = [run for run in progress.runs if run.state == outcomes.COMPLETED and progress.sweep.is_exclusive(run.job)]
    measured: Counter[Element] = Counter()  # how often by each job
    for run in alone:
        if run.slurm_id:
            measured[_place(run)] += run.attempts_of_job
    again = {place: {SLURM_REASON: SEVERAL % count} for place, count in measured.items() if count > 1}
    try:
        counted = energy_of(measured.keys() - again.keys())
    except UserError as error:
        err.print(f"[yellow]warning:[/yellow] {escape(error.what)}; energy by Slurm is left out", soft_wrap=True)
        counted = {}
    return {**again, **{place: {OF_SLURM: joules} for place, joules in counted.items()}}


def _place(run: RunProgress) -> Element:
    return run.slurm_id or "", run.index or 0


def candidates(table: pd.DataFrame) -> list[str]:
    """The columns that may tell the cases of a table apart."""
    return ["sweep", *PARAMETERS, *(name for name in table.columns if name.startswith(TAG))]
