"""The conditions of guidelines: a parameter has a value, or equals another column times a factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.analysis.stats.factor_levels import UNSET, text
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.frameworks import THREAD_COUNTS

CORES = "physical_cores_per_task"
_TO = ("cpus_per_task", CORES)  # columns that a thread count may equal, or half of which
_SHARES = {1.0: "", 0.5: "half of "}
_NAMES = {CORES: "physical cores"}
_MAX_VALUES = 16  # most frequent values per parameter

Booleans = NDArray[np.bool_]


class Condition(NamedTuple):
    """The condition that `column` equals `value` (None: unset), or `value` times the column `of`."""

    column: str
    value: Any
    of: str | None = None

    def holds(self, cases: pd.DataFrame) -> Booleans:
        """Return a mask of the cases for which the condition holds."""
        column = cases[self.column]
        if self.of is not None:
            numbers = column.astype(float).to_numpy()
            return np.asarray(numbers == self.value * _known(cases, self.of), dtype=bool)
        if self.value is None:
            return column.isna().to_numpy(dtype=bool)
        return column.astype(object).eq(self.value).to_numpy(dtype=bool)

    @property
    def words(self) -> str:
        """Return the condition as text: `intra_op_threads = half of physical cores`."""
        name = self.column.removeprefix(USER_PARAMETER)
        if self.of is not None:
            return f"{name} = {_SHARES[self.value]}{_NAMES.get(self.of, self.of)}"
        if self.value is None:
            return f"{name} {UNSET} (the framework's default)" if self.column in THREAD_COUNTS else f"{name} {UNSET}"
        return f"{name} = {text(self.value)}"


def _known(cases: pd.DataFrame, name: str) -> Floats:
    """Return a column of _TO. Cores are NaN for cases with an affinity, since they then depend on the threads."""
    column = cases[name].astype(float)
    narrowed = name == CORES and "affinity" in cases
    known = column.where(cases["affinity"].isna()) if narrowed else column
    return np.asarray(known, dtype=np.float64)


def conditions(cases: pd.DataFrame, tunables: Sequence[str]) -> Iterator[Condition]:
    """Yield the conditions for the tunables of these cases: values first, then relations to columns of _TO."""
    for name in tunables:
        column = cases[name].astype(object)
        found = column.value_counts(dropna=True).index[:_MAX_VALUES].tolist()
        yield from (Condition(name, value) for value in found)
        if column.isna().any():
            yield Condition(name, None)
    for name in tunables:
        if name in THREAD_COUNTS:
            yield from (Condition(name, share, of) for of in _TO if of in cases for share in _SHARES)
