"""What the commands that read results share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
from rich.markup import escape

from hpcbench.collect.energy import OF_SLURM, SLURM_REASON
from hpcbench.collect.progress import Progress, RunProgress, survey_or_records, unfinished_record
from hpcbench.collect.records import Record
from hpcbench.collect.table import PARAMETERS
from hpcbench.commands.common import err
from hpcbench.config.parameters import TAG
from hpcbench.errors import UserError
from hpcbench.node import outcomes
from hpcbench.submit.queue import Element
from hpcbench.submit.slurm_energy import energy_of
from hpcbench.submit.sweep import load
from hpcbench.workspace import SweepPaths

SEVERAL = "the job measured this %d times, and its counter does not tell which time took what"


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """For reading many records: none of them refers to itself, and looking for that takes a fifth of all the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def latest_records(paths: SweepPaths) -> list[Record]:
    """The latest record of each repetition, after a word on what is still missing."""
    progress = survey_or_records(load(paths))
    energies = _slurm_energies(progress)
    for warning in progress.warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    missing = sum(not run.ended for run in progress.runs)
    if missing:
        err.print(f"{paths.name}: {missing} of {len(progress.runs)} repetitions have not ended yet")
    records = [run.record or unfinished_record(progress.sweep, run) for run in progress.runs]
    return [{**record, **energies.get(_place(run), {})} for record, run in zip(records, progress.runs, strict=True)]


def _slurm_energies(progress: Progress) -> dict[Element, dict[str, Any]]:
    """What Slurm has counted, as a record has it, of completed repetitions that had their nodes to themselves."""
    alone = [run for run in progress.runs if run.state == outcomes.COMPLETED and progress.sweep.is_exclusive(run.job)]
    known = [run for run in alone if run.slurm_id]
    again = {_place(run): {SLURM_REASON: SEVERAL % run.attempts_of_job} for run in known if run.attempts_of_job > 1}
    try:
        counted = energy_of({_place(run) for run in known} - again.keys())
    except UserError as error:
        err.print(f"[yellow]warning:[/yellow] {escape(error.what)}; energy by Slurm is left out", soft_wrap=True)
        counted = {}
    return {**again, **{place: {OF_SLURM: joules} for place, joules in counted.items()}}


def _place(run: RunProgress) -> Element:
    return run.slurm_id or "", run.element


def candidates(table: pd.DataFrame) -> list[str]:
    """The columns that may tell the cases of a table apart."""
    return ["sweep", *PARAMETERS, *(name for name in table.columns if name.startswith(TAG))]
