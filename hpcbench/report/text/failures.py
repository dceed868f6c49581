"""Failures grouped by reason, since many cases often fail for the same reason."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from hpcbench.analysis.results import Results

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


def _failure(cases: pd.DataFrame, results: Results) -> Failure:
    status, error = cases[["status", "error"]].iloc[0]
    log = next(iter(cases["log"].dropna()), None)
    named = tuple(results.label(case) for _, case in cases.iterrows())
    return Failure(status, None if pd.isna(error) else error, log, named)


def failures_of(results: Results) -> list[Failure]:
    """Return the failures of the results, those with most cases first."""
    failed = results.failed
    kinds = failed.groupby(["status", "error"], sort=False, dropna=False)
    found = [_failure(rows, results) for _, rows in kinds]
    return sorted(found, key=lambda failure: -len(failure.cases))
