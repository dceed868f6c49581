"""The data of one case of a sweep, for all sections of its report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import by_case, case_table, valid_rows
from hpcbench.collect.table import MetricColumn, metric_columns, repetition_table
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import COMPLETED
from hpcbench.report.load.predicted_cases import predictions_by_sweep, with_predictions_of
from hpcbench.report.terminal import status_summary
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep

Row = dict[Any, Any]  # of a table, with None for missing values


@dataclass(frozen=True)
class CaseView:
    """A case of a sweep. `progress` holds its runs in order, `records` the valid record of each."""

    progress: Progress
    records: list[Record]
    label: str

    @property
    def sweep(self) -> Sweep:
        """Return the sweep of the case."""
        return self.progress.sweep

    @property
    def runs(self) -> tuple[RunProgress, ...]:
        """Return the runs of the case."""
        return self.progress.runs

    @property
    def planned(self) -> PlannedRun:
        """Return the plan of the first run."""
        return self.runs[0].planned

    @cached_property
    def row(self) -> Row:
        """Return the row of the case in the table of cases, with its prediction if there is one."""
        table = case_table(repetition_table(self.records))
        return _with_none(with_predictions_of(table, predictions_by_sweep([self.sweep])).to_dict("records")[0])

    @cached_property
    def repetitions(self) -> list[Row]:
        """Return the rows of the table of runs, with valid measurements only."""
        (rows,) = by_case(repetition_table(self.records)).values()
        return [_with_none(row) for row in rows]

    @cached_property
    def valid_rows(self) -> list[Row]:
        """Return the rows of the valid runs (see case_table.valid_rows)."""
        return valid_rows(self.repetitions)

    @cached_property
    def metrics(self) -> dict[str, MetricColumn]:
        """Return the metrics of the case's command, by column."""
        return metric_columns(self.records)

    @property
    def status(self) -> str:
        """Return the status of the case."""
        return str(self.row["status"])

    @property
    def completed(self) -> bool:
        """Return whether all runs have completed, with all metrics of the command."""
        return self.status == COMPLETED and not any(record.metrics_not_found for record in self.records)

    @property
    def ended(self) -> list[Record]:
        """Return the records of the runs that have ended."""
        return [run.record for run in self.runs if run.record is not None]

    @cached_property
    def telling(self) -> RunProgress | None:
        """Return the run to report in detail: the latest failed one, otherwise the latest ended one, or None."""
        failed = status_summary.failures(self.runs)
        ended = [run for run in self.runs if run.record is not None]
        return failed[-1] if failed else max(ended, key=status_summary.ended_at, default=None)


def _with_none(row: Row) -> Row:
    """Return a row with None for NaN, NaT and other missing values."""
    return {name: None if np.ndim(value) == 0 and pd.isna(value) else value for name, value in row.items()}
