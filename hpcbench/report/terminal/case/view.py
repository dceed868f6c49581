"""What the parts look at: one case of a sweep with all its repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import by_case, case_table, speaking
from hpcbench.collect.table import MetricColumn, metric_columns, repetition_table
from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import COMPLETED
from hpcbench.report.terminal import status_summary
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep

Row = dict[Any, Any]  # of a table, with None for whatever is missing


@dataclass(frozen=True)
class CaseView:
    """`progress` has the repetitions of the case alone, in their order; `records` what counts of each of them."""

    progress: Progress
    records: list[Record]
    label: str

    @property
    def sweep(self) -> Sweep:
        return self.progress.sweep

    @property
    def runs(self) -> tuple[RunProgress, ...]:
        return self.progress.runs

    @property
    def planned(self) -> PlannedRun:
        return self.runs[0].planned

    @cached_property
    def row(self) -> Row:
        """The case as a row of the table of cases."""
        return _with_none(case_table(repetition_table(self.records)).to_dict("records")[0])

    @cached_property
    def repetitions(self) -> list[Row]:
        """Rows of the table of repetitions, with nothing but times for samples."""
        (rows,) = by_case(repetition_table(self.records)).values()
        return [_with_none(row) for row in rows]

    @cached_property
    def speaking(self) -> list[Row]:
        """The repetitions that the numbers of the case are of."""
        return speaking(self.repetitions)

    @cached_property
    def metrics(self) -> dict[str, MetricColumn]:
        return metric_columns(self.records)

    @property
    def status(self) -> str:
        return str(self.row["status"])

    @property
    def completed(self) -> bool:
        return self.status == COMPLETED

    @property
    def ended(self) -> list[Record]:
        """Of the repetitions that have ended."""
        return [run.record for run in self.runs if run.record is not None]

    @cached_property
    def telling(self) -> RunProgress | None:
        """The repetition to look into: the latest that failed, else the latest that has ended."""
        failed = status_summary.failures(self.runs)
        ended = [run for run in self.runs if run.record is not None]
        return failed[-1] if failed else max(ended, key=status_summary.ended_at, default=None)


def _with_none(row: Row) -> Row:
    """Columns have several ways to say that there is nothing."""
    return {name: None if np.ndim(value) == 0 and pd.isna(value) else value for name, value in row.items()}
