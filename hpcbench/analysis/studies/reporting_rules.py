"""The twelve rules of Hoefler and Belli for reporting performance, and the data to check a report against them.

T. Hoefler and R. Belli, 2015, "Scientific benchmarking of parallel computing systems: twelve ways to tell the masses
when reporting performance results", SC15. docs/rules.md documents how each rule is kept or checked. The checks are in
rule_checks.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from hpcbench.analysis.cases.case_table import case_names, valid_repetitions, work_groups
from hpcbench.analysis.cases.confounders import WORK
from hpcbench.analysis.cases.quantities import OF_TIME, SPEEDUP, THROUGHPUT, TIME
from hpcbench.analysis.results import Results


class Rule(NamedTuple):
    """A rule by a short name; `kept` describes how a report keeps it if no violation is found."""

    name: str
    kept: str


RULES = {
    1: Rule(
        "base case",
        "speedups are over the case of --base; the only case of a workload is its own base",
    ),
    2: Rule("subsets", "every case of these sweeps was measured"),
    3: Rule("means", "rates are work over time, not means of rates; only times are averaged"),
    4: Rule("ratios", "speedups are ratios of medians; ratios are not averaged"),
    5: Rule("intervals", "each time has an interval over several runs, within 5 % of the median"),
    6: Rule("normality", "intervals are bootstrapped and assume no distribution"),
    7: Rule("comparison", "the intervals of neighbours in the ranking do not overlap"),
    8: Rule("percentiles", "tail latencies are known, if there are latencies"),
    9: Rule("factors", "only requested parameters differ between cases, and the records have the setup"),
    10: Rule("parallel time", "for synchronized tasks the slowest counts; rates of independent replicas are added"),
    11: Rule("bounds", "speedups on one kind of device are over the same number of CPUs or GPUs"),
    12: Rule("plots", "figures show medians with intervals and units, and connect only points of one axis"),
}


class RuleViolation(NamedTuple):
    """A rule that a report does not follow: what is missing, and the remedy."""

    rule: int
    lacking: str
    remedy: str


@dataclass(frozen=True)
class Evidence:
    """The data that the rules check: the results of a report, and tables derived from them."""

    results: Results

    def were_searched(self, cases: pd.DataFrame) -> bool:
        """Return whether all of these cases are of tuning searches, which choose the cases to measure."""
        return bool(cases["sweep"].isin(list(self.results.searches)).all())

    @cached_property
    def measured(self) -> pd.DataFrame:
        """Return the measured cases, in the order of the ranking, with the number of their workload."""
        cases = self.results.cases.assign(**{WORK: work_groups(self.results.cases)})
        return cases[cases[WORK] >= 0]

    @cached_property
    def valid(self) -> pd.DataFrame:
        """Return the valid repetitions (see case_table.py) of the measured cases, with the number of their workload."""
        keys = ["sweep", "case"]
        return valid_repetitions(self.results.repetitions).merge(self.measured[[*keys, WORK]], on=keys)

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Return centre, low and high per measured case, of the ranking quantity; without its interval, the time."""
        cases, quantity = self.measured, self.results.quantity
        has_its_own = quantity.limits[0] in cases and quantity not in OF_TIME
        columns = (quantity.column, *quantity.limits) if has_its_own else (TIME.column, *TIME.limits)
        items = cases["items_per_step"].astype(float).fillna(1.0) if quantity in (THROUGHPUT, SPEEDUP) else 1.0
        named = zip(("centre", "low", "high"), columns, strict=True)
        return pd.DataFrame({name: cases[column].astype(float) / items for name, column in named})

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Return the measured cases of workloads with several speedups; `is_base` marks the base cases."""
        has_speedup = self.measured["speedup"].notna()
        cases = self.measured[has_speedup & (has_speedup.groupby(self.measured[WORK]).transform("sum") > 1)]
        return cases.assign(is_base=case_names(cases) == cases["speedup_base"])
