"""What a report is made of: the tables of its sweeps, and what they are ranked by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from hpcbench.analysis.cases import labels
from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import WORK, ranked_by, work_groups
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.studies.guideline_transfer import Transfer, transfer
from hpcbench.analysis.studies.threads import Compared, compared
from hpcbench.core.status import COMPLETED


@dataclass(frozen=True)
class Work:
    """The cases of one kind of work, best first, and by which columns they are told apart."""

    title: str
    short_title: str  # what tells it from the others
    cases: pd.DataFrame
    shown: list[str]


@dataclass(frozen=True)
class Results:
    """`cases` are ranked by `quantity`, and have their speedups; `shown` are the columns that tell them apart.

    Those of `searches` were measured as a search went on, most of them briefly: ways of setting threads are not
    compared by them, for that is what the search itself has found out.
    """

    repetitions: pd.DataFrame
    cases: pd.DataFrame
    quantity: Quantity
    shown: Sequence[str]
    replicates: Replicates
    base_given: bool = False
    metrics: Mapping[str, Quantity] = field(default_factory=dict)  # of commands, by column
    mean_rates: tuple[str, ...] = ()  # those that are arithmetic means of rates
    searches: Collection[str] = ()  # names of sweeps

    @cached_property
    def works(self) -> list[Work]:
        """The kinds of work that were measured, in the order of the ranking."""
        groups = work_groups(self.cases)
        found = [alike for _, alike in self.cases.groupby(groups[groups >= 0])]
        return [
            Work(labels.title(alike), short_title, alike, self._telling(alike))
            for alike, short_title in zip(found, labels.short_titles(found), strict=True)
        ]

    def _telling(self, alike: pd.DataFrame) -> list[str]:
        """What tells cases of equal work apart; a single one from those of other work, as far as its title does not."""
        if len(alike) > 1:
            return labels.varying(alike, list(self.shown))
        return [name for name in self.shown if name not in WORK and alike[name].notna().all()]

    def ranked_by(self, work: Work) -> Quantity:
        """The quantity, or what stands for it where these cases have none of it."""
        return ranked_by(work.cases, self.quantity, self.metrics.values())

    @cached_property
    def thread_contexts(self) -> list[Compared]:
        """The contexts in which threads were set in several ways."""
        return compared(self._as_planned(self.cases), self.replicates)

    @cached_property
    def guideline_test(self) -> Transfer | None:
        """How rules for threads do on networks that they were not mined on, where threads were set in several ways."""
        return transfer(self._as_planned(self.cases)) if self.thread_contexts else None

    @property
    def planned_repetitions(self) -> pd.DataFrame:
        """Those of sweeps that measured all that they had planned, and were no searches."""
        return self._as_planned(self.repetitions)

    def _as_planned(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[~table["sweep"].isin(list(self.searches))] if self.searches else table

    @property
    def failed(self) -> pd.DataFrame:
        """The cases of which some repetition did not complete."""
        return self.cases[self.cases["status"] != COMPLETED]

    def label(self, case: pd.Series[Any]) -> str:
        """A case in words: by what tells it from others of its work; one that was not measured, from all."""
        return labels.label(case, self._told.get((case["sweep"], case["case"]), list(self.shown)))

    @cached_property
    def _told(self) -> dict[tuple[str, str], list[str]]:
        return {
            key: work.shown for work in self.works for key in zip(work.cases["sweep"], work.cases["case"], strict=True)
        }
