"""Failures grouped by reason, since many cases often fail for the same reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.case_table import NOT_FOUND
from hpcbench.analysis.results import Results
from hpcbench.core.status import COMPLETED, METRIC_NOT_FOUND

MAX_NAMED = 3


@dataclass(frozen=True)
class Failure:
    """Cases with the same status and message, in the order of the ranking; the log is that of the first."""

    status: str
    error: str | None
    log: str | None
    cases: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """Return `2 cases (nodes=2; nodes=4): REASON (log: ...)`, or `nodes=2: REASON (log: ...)` for one case."""
        named = "; ".join(self.cases[:MAX_NAMED])
        if len(self.cases) > 1:
            more = "; ..." if len(self.cases) > MAX_NAMED else ""
            named = f"{len(self.cases):,} cases ({named}{more})"
        log = f" (log: {self.log})" if self.log else ""
        return f"{named}: {self.error}{log}" if self.error else named


def failures_of(results: Results) -> list[Failure]:
    """Return the failures of the results, those with most cases first, and then the metrics that were not found."""
    failed, lacking = results.failed, results.lacking
    found = [_failure(rows, results, *kind) for kind, rows in _groups(failed, ["status", "error"])]
    missing = [
        _failure(rows, results, f"{COMPLETED}, {METRIC_NOT_FOUND}", ": ".join(kind))
        for kind, rows in _groups(lacking, list(NOT_FOUND))
    ]
    return [*sorted(found, key=_size), *sorted(missing, key=_size)]


def _groups(cases: pd.DataFrame, names: list[str]) -> Iterable[tuple[Any, pd.DataFrame]]:
    return cases.groupby(names, sort=False, dropna=False)


def _size(failure: Failure) -> int:
    return -len(failure.cases)


def _failure(cases: pd.DataFrame, results: Results, status: str, error: str) -> Failure:
    log = next(iter(cases["log"].dropna()), None)
    named = tuple(results.label(case) for _, case in cases.iterrows())
    return Failure(status, None if pd.isna(error) else error, log, named)
