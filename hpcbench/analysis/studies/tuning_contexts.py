"""The measured cases by context (values of given columns) and configuration (values of tunable columns)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.case_table import case_names
from hpcbench.analysis.cases.ranking import speed_of
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.stats.factor_levels import Codes, text
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.studies.rule_conditions import Booleans
from hpcbench.config.names import USER_PARAMETER
from hpcbench.config.parameters import NAMES
from hpcbench.core.frameworks import CHOICES

# Settings that can be tuned on the same nodes, CPUs and GPUs without changing the workload.
TUNABLES = ("framework", "environment", "strategy", *CHOICES)
_MACHINE = ("site", "cpu_model", "gpu_model")
_OF_SETTINGS = ("command", "oversubscribe")  # not in contexts: the first contains settings, the second permits some

Context = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TuningContexts:
    """The measured cases of contexts with several configurations, sorted by context.

    `starts` is the first row of each context, `place` the context of each case. `slower` is the time of a case over the
    best time of its context; `surely` is True if their intervals do not overlap. `given` are the columns that define
    the contexts.
    """

    cases: pd.DataFrame
    starts: Codes
    place: Codes
    slower: Floats
    surely: Booleans
    given: tuple[str, ...]

    @classmethod
    def of(cls, cases: pd.DataFrame, tunables: Sequence[str]) -> TuningContexts:
        """Return the contexts of a table of cases. Raise KeyError if a tunable is not a column."""
        given = tuple(str(name) for name in cases if _is_given(str(name), tunables))
        cases = cases.assign(_work=work_groups(cases), _cost=1 / speed_of(cases))
        cases = cases[cases["_cost"].notna()]
        numbers = cases.groupby(["_work", *given], dropna=False, sort=False).ngroup()
        several = cases[list(tunables)].groupby(numbers).nunique(dropna=False).gt(1).any(axis=1)
        numbers = numbers[numbers.map(several).astype(bool)].sort_values(kind="stable")
        cases = cases.loc[numbers.index]
        starts = np.flatnonzero(np.diff(numbers.to_numpy(), prepend=-1))
        if not starts.size:
            return cls(cases, starts, starts, np.empty(0), np.empty(0, dtype=bool), given)
        place = np.repeat(np.arange(starts.size), np.diff(starts, append=len(cases)))
        costs = cases["_cost"].to_numpy(dtype=np.float64)
        slower = costs / np.minimum.reduceat(costs, starts)[place]
        low, high = (slower * _limit(cases, name) for name in ("time_ci_low_s", "time_ci_high_s"))
        ends = np.minimum.reduceat(np.where(slower == 1, high, np.inf), starts)[place]
        return cls(cases, starts, place, slower, np.asarray(low > ends, dtype=bool), given)

    @property
    def contexts(self) -> int:
        """Return the number of contexts."""
        return int(self.starts.size)

    @property
    def spans(self) -> list[slice]:
        """Return the slice of rows of each context."""
        return [slice(*ends) for ends in pairwise([*self.starts.tolist(), len(self.cases)])]

    def having(self, chosen: Booleans) -> Booleans:
        """Return a mask of the contexts with a chosen case."""
        found: Booleans = np.logical_or.reduceat(chosen, self.starts) if self.contexts else np.zeros(0, dtype=bool)
        return found

    def slowest(self, chosen: Booleans) -> list[int]:
        """Return the row of the slowest chosen case of each context that has one, the largest `slower` first."""
        rows = np.flatnonzero(chosen)
        rows = rows[np.argsort(-self.slower[rows], kind="stable")]
        first = np.unique(self.place[rows], return_index=True)[1]
        found: list[int] = rows[np.sort(first)].tolist()
        return found

    def context_at(self, row: int) -> Context:
        """Return the given columns that differ between cases, with their values in this row as text."""
        return tuple((name.removeprefix(USER_PARAMETER), text(column[row])) for name, column in self._telling.items())

    def name_at(self, row: int) -> str:
        """Return the name of the case in this row."""
        return self._names[row]

    @cached_property
    def _telling(self) -> dict[str, list[object]]:
        return {name: self.cases[name].tolist() for name in self.given if self.cases[name].nunique(dropna=False) > 1}

    @cached_property
    def _names(self) -> list[str]:
        return list(case_names(self.cases))


def _is_given(name: str, tunables: Sequence[str]) -> bool:
    known = name in NAMES or name in _MACHINE or name.startswith(USER_PARAMETER)
    return known and name not in tunables and name not in _OF_SETTINGS


def _limit(cases: pd.DataFrame, name: str) -> Floats:
    """Return a limit of the time relative to the median time."""
    return np.array(cases[name].astype(float) / cases["time_median_s"].astype(float), dtype=np.float64)
