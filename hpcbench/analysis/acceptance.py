"""Whether each case meets the conditions of `accept`.

The verdict is about the estimate that the report shows, the median over the runs, or the largest error of a validation:
a recipe is accepted or rejected by one number. A CI that contains the threshold does not change the verdict, but is
reported, since other runs might.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.case_table import trained_repetitions, valid_repetitions
from hpcbench.analysis.cases.quantities import ACCURACIES, NOT_FOUND, Quantity
from hpcbench.config.validation.acceptance import Condition
from hpcbench.core.status import COMPLETED

ACCEPTED, REJECTED, NOT_MEASURED = "accepted", "rejected", "not measured"
WORST_FIRST = (REJECTED, NOT_MEASURED, ACCEPTED)
VERDICT, REASON = "acceptance", "acceptance_reason"  # columns of the table of cases
_REASONS = {
    "energy": "energy_reason",
    "price": "price_reason",
    "update": "update_reason",
}  # by the first word of the quantity's column


@dataclass(frozen=True)
class Required:
    """A condition on a quantity of all cases of a sweep, with the threshold in the unit of the quantity.

    `problem` is why no case can have a verdict, such as an unknown name; `hint` is what to write instead.
    """

    sweep: str
    quantity: Quantity
    condition: Condition
    threshold: float
    problem: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Check:
    """A condition checked on a case: the verdict, with the estimate and its 95 % CI, which may be missing.

    `runs` is the number of runs that the estimate is based on. `reason` is why it was not measured, if that is known,
    or why a case is rejected that meets the condition: it did not complete.
    """

    sweep: str
    case: str
    required: Required
    verdict: str
    value: float
    low: float
    high: float
    runs: int
    reason: str = ""

    @property
    def is_close(self) -> bool:
        """Return whether the CI contains the threshold."""
        return self.low <= self.required.threshold <= self.high


def checks(cases: pd.DataFrame, repetitions: pd.DataFrame, required: Iterable[Required]) -> list[Check]:
    """Return each condition checked on each case of its sweep, in the order of the cases.

    The accuracy of a run that missed its target counts. Other quantities require a valid run (see case_table). A case
    that did not complete is not accepted.
    """
    valid, trained = valid_repetitions(repetitions), trained_repetitions(repetitions)
    runs = {each: _runs(cases, trained if each.quantity in ACCURACIES else valid, each.quantity) for each in required}
    return [
        _check(case, each, int(counts.get((case["sweep"], case["case"]), 0)))
        for case in cases.to_dict("records")
        for each, counts in runs.items()
        if each.sweep == case["sweep"]
    ]


def _runs(cases: pd.DataFrame, repetitions: pd.DataFrame, quantity: Quantity) -> dict[Any, Any]:
    """Return the number of runs with a value of a quantity, by sweep and case."""
    name = quantity.measured_as or quantity.column
    if name in repetitions:
        return repetitions[repetitions[name].notna()].groupby(["sweep", "case"]).size().to_dict()
    return cases.set_index(["sweep", "case"])["runs"].to_dict()


def _check(case: dict[Any, Any], required: Required, runs: int) -> Check:
    column, limits = required.quantity.column, required.quantity.limits
    value, low, high = (_number(case.get(name)) for name in (column, *limits))
    known = runs > 0 and value == value and not required.problem
    verdict, reason = NOT_MEASURED, required.problem
    if known:
        verdict = ACCEPTED if required.condition.holds(value, required.threshold) else REJECTED
        if verdict == ACCEPTED and case["status"] != COMPLETED:
            verdict, reason = REJECTED, _failure(case)
    elif not reason:
        reason = _reason(case, required.quantity)
    return Check(case["sweep"], case["case"], required, verdict, value, low, high, runs, reason)


def _number(value: Any) -> float:
    return float("nan") if pd.isna(value) else float(value)


def _reason(case: dict[Any, Any], quantity: Quantity) -> str:
    """Return why a case has no value of a quantity; empty if no column has the reason, and no run has failed."""
    names, why = (case.get(name) for name in NOT_FOUND)
    if not pd.isna(names) and quantity.title in names.split(", "):
        return str(why)
    column = _REASONS.get(quantity.column.partition("_")[0], "")
    if not pd.isna(case.get(column)):
        return str(case[column])
    return "" if case["status"] == COMPLETED else _failure(case)


def _failure(case: dict[Any, Any]) -> str:
    return str(case["status"]) if pd.isna(case.get("error")) else f"{case['status']}: {case['error']}"


def unmeasurable(found: Sequence[Check]) -> list[Required]:
    """Return the conditions that no case can meet: those with a problem, or on a quantity that no case has.

    A quantity that a case lacks for a reason, such as a failed run, is not among them.
    """
    every = dict.fromkeys(check.required for check in found)
    possible = {check.required for check in found if check.verdict != NOT_MEASURED or check.reason}
    return [each for each in every if each.problem or each not in possible]


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst of some verdicts, the verdict of the case."""
    return min(verdicts, key=WORST_FIRST.index)
