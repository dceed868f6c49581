"""What the commands that read results share."""

from __future__ import annotations

import pandas as pd
from rich.markup import escape

from hpcbench.collect.progress import survey_or_records, unfinished_record
from hpcbench.collect.records import Record
from hpcbench.collect.table import PARAMETERS
from hpcbench.commands.common import err
from hpcbench.config.parameters import TAG
from hpcbench.submit.sweep import load
from hpcbench.workspace import SweepPaths


def latest_records(paths: SweepPaths) -> list[Record]:
    """The latest record of each repetition, after a word on what is still missing."""
    progress = survey_or_records(load(paths))
    for warning in progress.warnings:
        err.print(f"[yellow]warning:[/yellow] {escape(warning)}", soft_wrap=True)
    missing = sum(not run.ended for run in progress.runs)
    if missing:
        err.print(f"{paths.name}: {missing} of {len(progress.runs)} repetitions have not ended yet")
    return [run.record or unfinished_record(progress.sweep, run) for run in progress.runs]


def candidates(table: pd.DataFrame) -> list[str]:
    """The columns that may tell the cases of a table apart."""
    return ["sweep", *PARAMETERS, *(name for name in table.columns if name.startswith(TAG))]
