"""What the commands that read results share."""

from __future__ import annotations

import pandas as pd
from rich.markup import escape

from hpcbench.collect.progress import Progress, survey_or_records, unfinished_record
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
    return [
        {**record, "energy_slurm_j": energies.get((run.slurm_id or "", run.element))}
        for record, run in zip(records, progress.runs, strict=True)
    ]


def _slurm_energies(progress: Progress) -> dict[Element, int]:
    """What Slurm has counted, of completed repetitions that had their nodes to themselves."""
    sweep = progress.sweep
    runs = [run for run in progress.runs if run.state == outcomes.COMPLETED and sweep.is_exclusive(run.job)]
    try:
        return energy_of({(run.slurm_id, run.element) for run in runs if run.slurm_id})
    except UserError as error:
        err.print(f"[yellow]warning:[/yellow] {escape(error.what)}; energy by Slurm is left out", soft_wrap=True)
        return {}


def candidates(table: pd.DataFrame) -> list[str]:
    """The columns that may tell the cases of a table apart."""
    return ["sweep", *PARAMETERS, *(name for name in table.columns if name.startswith(TAG))]
