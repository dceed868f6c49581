"""The results of a report: the tables of its sweeps, and the quantity that ranks their cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from hpcbench.analysis.acceptance import ACCEPTED, Check
from hpcbench.analysis.cases import labels
from hpcbench.analysis.cases.bootstrap_replicates import Key, Replicates
from hpcbench.analysis.cases.quantities import NOT_FOUND, THROUGHPUT, TIME, Quantity
from hpcbench.analysis.cases.ranking import ranked_by
from hpcbench.analysis.cases.workloads import WORK, work_groups
from hpcbench.analysis.predicted.basis import PredictionBasis
from hpcbench.analysis.profiles.clock_states import ClockStates, clock_states
from hpcbench.analysis.profiles.step_profile import StepProfile, step_profiles
from hpcbench.analysis.training.divergence import Divergence
from hpcbench.core.status import COMPLETED

_OfCase = TypeVar("_OfCase", StepProfile, ClockStates)


@dataclass(frozen=True)
class Workload:
    """The cases of one workload, best first, and the columns that identify them.

    A combined workload has the cases of several workloads with one case each, which are not compared.
    """

    title: str
    short_title: str  # unique among the workloads of a report
    cases: pd.DataFrame
    shown: list[str]
    is_combined: bool = False


@dataclass(frozen=True, eq=False)
class Results:
    """The tables of a report. `cases` are ranked by `quantity` and have speedups; the columns `shown` identify them.

    The sweeps in `searches` are tuning searches, which measure most cases only briefly: their thread modes are not
    compared. The cases in `fails_again` would fail again if they were resumed.
    """

    repetitions: pd.DataFrame
    cases: pd.DataFrame
    quantity: Quantity
    shown: Sequence[str]
    replicates: Replicates
    base_given: bool = False
    metrics: Mapping[str, Quantity] = field(default_factory=dict)  # metrics of commands, by column
    mean_rates: tuple[str, ...] = ()  # metrics that are arithmetic means of rates
    searches: Collection[str] = ()  # names of sweeps
    fails_again: Collection[Key] = ()
    acceptance: Sequence[Check] = ()  # the conditions of `accept`, checked on the cases
    published_in: str = ""  # the file of published times, which are columns of the cases
    operators: pd.DataFrame = field(default_factory=pd.DataFrame)  # of profiled cases, as in operators.parquet
    divergences: Sequence[Divergence] = ()  # of trainings whose trajectories were recorded
    epochs: pd.DataFrame = field(default_factory=pd.DataFrame)  # accuracy after each epoch of each training
    predictions: Sequence[PredictionBasis] = ()  # of sweeps whose cases were predicted, in columns of the cases

    @cached_property
    def workloads(self) -> list[Workload]:
        """Return the workloads with measured cases, in the order of the ranking."""
        groups = work_groups(self.cases)
        found = [alike for _, alike in self.cases.groupby(groups[groups >= 0])]
        firsts = self.cases.loc[[alike.index[0] for alike in found]].to_dict("records")
        short = labels.short_titles(found, firsts)
        return [
            Workload(title, short_title, alike, self._telling(alike))
            for alike, title, short_title in zip(found, labels.titles(found, firsts, short), short, strict=True)
        ]

    def _telling(self, alike: pd.DataFrame) -> list[str]:
        """Return the columns that identify cases within a workload; for a single case, those that its title lacks.

        For a single case, omit columns that distinguish it only from other tasks, or from cases without a value.
        """
        if len(alike) > 1:
            return labels.varying(alike, list(self.shown))
        same_task = self.cases[self.cases["task"].astype(str) == str(alike["task"].iat[0])]
        shown = labels.varying(same_task, list(self.shown)) if len(same_task) > 1 else self._with_several_values
        return [name for name in shown if name not in WORK and alike[name].notna().all()]

    @cached_property
    def _with_several_values(self) -> list[str]:
        """Return the columns that identify cases by different values, not only by a missing one."""
        return [name for name in self.shown if self.cases[name].dropna().map(str).nunique() > 1]

    def ranked_by(self, work: Workload) -> Quantity:
        """Return the quantity that ranks a workload (see ranking.ranked_by)."""
        return ranked_by(work.cases, self.quantity, self.metrics.values())

    def undirected(self, work: Workload) -> list[Quantity]:
        """Return the metrics that do not rank a workload only because their better direction is unknown."""
        if self.quantity != THROUGHPUT or self.ranked_by(work) != TIME:
            return []
        unknown = [metric for metric in self.metrics.values() if metric.more_is_better is None]
        return [metric for metric in unknown if work.cases[metric.column].notna().any()]

    @cached_property
    def profiles_of_states(self) -> list[StepProfile]:
        """Return the profiles of operators in all states of devices, in the order of the ranking of their cases."""
        return self._ranked(step_profiles(self.operators) if len(self.operators) else [])

    @property
    def profiles(self) -> list[StepProfile]:
        """Return the profiles of operators in the default state of the device, in the order of the ranking."""
        return [profile for profile in self.profiles_of_states if not profile.state]

    @cached_property
    def clock_states(self) -> list[ClockStates]:
        """Return the cases whose step was profiled in several states of the device, in the order of the ranking."""
        return self._ranked(clock_states(self.operators) if len(self.operators) else [])

    def _ranked(self, found: list[_OfCase]) -> list[_OfCase]:
        places = {key: place for place, key in enumerate(zip(self.cases["sweep"], self.cases["case"], strict=True))}
        return sorted(found, key=lambda each: places.get((each.sweep, each.case), len(places)))

    def label_of_profile(self, profile: StepProfile | ClockStates) -> str:
        """Return the name of the case of a profile for a title; its workload if it has no label."""
        keys = zip(self.cases["sweep"], self.cases["case"], strict=True)
        place = next((place for place, key in enumerate(keys) if key == (profile.sweep, profile.case)), None)
        if place is None:
            return profile.case
        work = self._workload_of.get((profile.sweep, profile.case))
        return self.name_in_title(self.cases.iloc[place]) or (work.title if work else profile.case)

    @property
    def planned_cases(self) -> pd.DataFrame:
        """Return the cases of sweeps that are not searches."""
        return self._as_planned(self.cases)

    @property
    def planned_repetitions(self) -> pd.DataFrame:
        """Return the runs of sweeps that are not searches."""
        return self._as_planned(self.repetitions)

    def _as_planned(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[~table["sweep"].isin(list(self.searches))] if self.searches else table

    @property
    def failed(self) -> pd.DataFrame:
        """Return the cases with a run that did not complete."""
        return self.cases[self.cases["status"] != COMPLETED]

    @property
    def lacking(self) -> pd.DataFrame:
        """Return the cases with a completed run in whose output a metric was not found."""
        return self.cases[self.cases[NOT_FOUND[0]].notna()]

    @property
    def succeeded(self) -> bool:
        """Return whether all cases have completed with all metrics, and are accepted."""
        accepted = all(check.verdict == ACCEPTED for check in self.acceptance)
        return accepted and self.failed.empty and self.lacking.empty

    def label(self, case: pd.Series[Any]) -> str:
        """Return the label of a case: the columns that identify it in its workload, or all if it was not measured."""
        work = self._workload_of.get((case["sweep"], case["case"]))
        return labels.label(case, work.shown if work else list(self.shown))

    def full_label(self, case: pd.Series[Any]) -> str:
        """Return the label of a case, after the short title of its workload if there are several workloads."""
        work = self._workload_of.get((case["sweep"], case["case"]))
        if work is None or len(self.workloads) == 1:
            return self.label(case)
        return f"{work.short_title}: {self.label(case)}" if work.shown else work.short_title

    def title_of(self, case: pd.Series[Any]) -> str:
        """Return the title of the workload of a case; empty if the case was not measured."""
        work = self._workload_of.get((case["sweep"], case["case"]))
        return work.title if work else ""

    def name_in_title(self, case: pd.Series[Any]) -> str:
        """Return the full label of a case without missing values; empty instead of its ID."""
        work = self._workload_of.get((case["sweep"], case["case"]))
        shown = work.shown if work else list(self.shown)
        if work is None or len(work.cases) == 1:  # cases of other tasks lack some of these columns
            shown = [name for name in shown if name in self._with_several_values]
        label = labels.label_of_known(case, shown)
        return ": ".join(filter(None, (work.short_title if work and len(self.workloads) > 1 else "", label)))

    @cached_property
    def _workload_of(self) -> dict[Key, Workload]:
        return {
            key: work for work in self.workloads for key in zip(work.cases["sweep"], work.cases["case"], strict=True)
        }
