"""The twelve rules of Hoefler and Belli for reporting performance, and the data to check a report against them.

T. Hoefler and R. Belli, 2015, "Scientific benchmarking of parallel computing systems: twelve ways to tell the masses
when reporting performance results", SC15. docs/concepts/twelve-rules.md documents how each rule is kept or
checked. The checks are in rule_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from hpcbench.analysis.cases.case_table import case_names, valid_repetitions
from hpcbench.analysis.cases.confounders import WORK
from hpcbench.analysis.cases.quantities import LATENCIES, OF_TIME, SPEEDUP, THROUGHPUT, TIME
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.results import Results
from hpcbench.core.frameworks import FORWARD_TASKS
from hpcbench.core.samples import SAMPLES


class Rule(NamedTuple):
    """A rule by a short name; `kept` describes how a report keeps it if no violation is found."""

    name: str
    kept: str


RULES = {
    1: Rule(
        "base case",
        "speedups are relative to the case of --baseline-case",
    ),
    2: Rule("subsets", "every case of these sweeps was measured"),
    3: Rule("means", "rates are work over time, not means of rates; only times are averaged"),
    4: Rule("ratios", "speedups are ratios of medians; ratios are not averaged"),
    5: Rule("intervals", "each time has an interval over several runs, within 5 % of the median"),
    6: Rule("normality", "intervals are bootstrapped and assume no distribution"),
    7: Rule("comparison", "the intervals of neighbours in the ranking do not overlap"),
    8: Rule("percentiles", "tail latencies are known"),
    9: Rule("factors", "only requested parameters differ between cases, and the records contain the setup"),
    10: Rule("parallel time", "for synchronized tasks the slowest counts; rates of independent replicas are added"),
    11: Rule("bounds", "speedups on one kind of device are relative to the same number of CPUs or GPUs"),
    12: Rule("plots", "figures show medians with intervals and units, and connect only points of one axis"),
}

# Numbers of rules by subject.
_OF_SPEEDUPS, _OF_COMPARISONS, _OF_MEASUREMENTS = (1, 4, 11), (7, 12), (3, 5, 9)


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

    @property
    def used_slurm(self) -> bool:
        """Return whether a measured run was in a job of Slurm."""
        return bool(self.measured["job_id"].notna().any())

    @cached_property
    def valid(self) -> pd.DataFrame:
        """Return the valid runs (see case_table.py) of the measured cases, with the number of their workload."""
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
        """Return the measured cases whose base is that of at least one other case; `is_base` marks the bases."""
        bases = self.measured["speedup_base"].where(self.measured["speedup"].notna())
        cases = self.measured[bases.map(bases.value_counts()).gt(1)]
        return cases.assign(is_base=case_names(cases) == cases["speedup_base"])


def not_applicable(evidence: Evidence) -> dict[int, str]:
    """Return why rules have nothing to check, by number. A violated rule applies, even if it is among these."""
    return dict(_reasons(evidence))


def _reasons(evidence: Evidence) -> Iterator[tuple[int, str]]:
    measured = evidence.measured
    if measured.empty:
        yield from dict.fromkeys(
            (*_OF_MEASUREMENTS, *_OF_SPEEDUPS, *_OF_COMPARISONS, 6, 8, 10), "no case was measured"
        ).items()
        return
    if evidence.compared.empty:
        yield from dict.fromkeys(_OF_SPEEDUPS, "no case has a speedup over another case").items()
    if not measured[WORK].duplicated().any():
        yield from dict.fromkeys(_OF_COMPARISONS, "no workload has two measured cases").items()
    if not (measured["runs"] > 1).any() and evidence.valid[SAMPLES].map(len).max() < 2:
        yield 6, "no case has an interval"
    is_tail = evidence.results.quantity in LATENCIES or measured["task"].isin(FORWARD_TASKS).any()
    if not is_tail:
        yield 8, "no case has latencies of inference"
    if (measured["nodes"] * measured["tasks_per_node"] * measured["instances"]).le(1).all():
        yield 10, "every case has one process"
