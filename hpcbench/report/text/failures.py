"""Failures grouped by reason, since many cases often fail for the same reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.quantities import NOT_FOUND
from hpcbench.analysis.results import Results
from hpcbench.core.status import COMPLETED, METRIC_NOT_FOUND
from hpcbench.util.causes import cause

MAX_NAMED = 3


@dataclass(frozen=True)
class Failure:
    """Cases with the same status and cause, in the order of the ranking; message and log are of the first one."""

    status: str
    error: str | None
    log: str | None
    cases: tuple[str, ...]
    is_example: bool = False  # whether other cases have another message
    is_only_case: bool = False  # of the report, which needs no name

    @property
    def in_words(self) -> str:
        """Return what follows the status: ` 2 cases (nodes=2; nodes=4): REASON (log: ...)`.

        This is ` nodes=2: REASON (log: ...)` for one case among several, and `: REASON (log: ...)` for the only case.
        """
        named = " " + "; ".join(self.cases[:MAX_NAMED])
        if len(self.cases) > 1:
            more = "; ..." if len(self.cases) > MAX_NAMED else ""
            named = f" {len(self.cases):,} cases ({named[1:]}{more})"
        elif self.is_only_case:
            named = ""
        log = f" (log: {self.log})" if self.log else ""
        example = "for example: " if self.is_example else ""
        return f"{named}: {example}{self.error}{log}" if self.error else named


def failures_of(results: Results) -> list[Failure]:
    """Return the failures of the results, those with most cases first, followed by the metrics that were not found.

    Messages that differ only in numbers or nodes have the same cause, and are one failure.
    """
    failed, lacking = results.failed, results.lacking
    causes = [_cause(*each) for each in zip(failed["error"], failed["nodes_used"], strict=True)]
    kinds = failed.groupby(["status", pd.Series(causes, failed.index, dtype=object)], sort=False)
    found = [_failure(rows, results, str(status), rows["error"]) for (status, _), rows in kinds]
    metrics, reasons = (lacking[name] for name in NOT_FOUND)
    missing = [
        _failure(rows, results, f"{COMPLETED}, {METRIC_NOT_FOUND}", metrics[rows.index] + ": " + reasons[rows.index])
        for _, rows in lacking.groupby([metrics, reasons.fillna("").map(cause)], sort=False)
    ]
    return [*sorted(found, key=_size), *sorted(missing, key=_size)]


def _cause(error: Any, nodes: Any) -> str:
    return "" if pd.isna(error) else cause(error, () if pd.isna(nodes) else nodes.split(","))


def _size(failure: Failure) -> int:
    return -len(failure.cases)


def _failure(cases: pd.DataFrame, results: Results, status: str, errors: pd.Series[Any]) -> Failure:
    log = next(iter(cases["log"].dropna()), None)
    named = tuple(results.label(case) for _, case in cases.iterrows())
    several = errors.nunique(dropna=False) > 1
    error = errors.iloc[0]
    is_only = len(results.cases) == 1
    return Failure(
        status, None if pd.isna(error) else error, log, named, is_example=bool(several), is_only_case=is_only
    )
