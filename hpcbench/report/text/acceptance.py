"""The verdicts of `accept` in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hpcbench.analysis.acceptance import ACCEPTED, NOT_MEASURED, WORST_FIRST, Check, Required, worst
from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.results import Results
from hpcbench.report.text.numbers import SCALED, between, formatter, value_in_words
from hpcbench.util.text import plural

CLOSE = "the CI contains the threshold"
RULE = (
    "A case is accepted if all its runs completed, and their median (of validation errors, the maximum) meets each "
    "condition. The CI does not change the verdict."
)
ABSENT = "no run has this quantity"


def sentence(check: Check) -> str:
    """Return `accuracy 0.912 (95 % CI 0.905 - 0.921, n = 3): required >= 0.93`, or why there is no value."""
    quantity, required = check.required.quantity, f"required {check.required.condition}"
    if check.verdict == NOT_MEASURED:
        return f"{quantity.title} not measured ({reason_of(check)}): {required}"
    limits = interval_of(check)
    basis = f"95 % CI {limits}, n = {check.runs}" if limits else f"n = {check.runs}"
    note = note_of(check)
    return f"{quantity.title} {value_of(check)} ({basis}): {required}{note and '; '}{note}"


def note_of(check: Check) -> str:
    """Return a note on a measured value: the case did not complete, or the CI contains the threshold."""
    incomplete = f"the case did not complete ({check.reason})" if check.reason else ""
    return "; ".join(filter(None, (incomplete, CLOSE if check.is_close else "")))


def reason_of(check: Check) -> str:
    """Return why a condition could not be checked."""
    return check.reason or ABSENT


def interval_of(check: Check) -> str:
    """Return the limits of the CI; empty without a CI."""
    return between(check.low, check.high, formatter(check.required.quantity))


def value_of(check: Check) -> str:
    """Return the value with its unit, with more digits if it would otherwise look like the threshold."""
    quantity, threshold = check.required.quantity, check.required.threshold
    text = value_in_words(quantity, check.value)
    if check.value == threshold or text != value_in_words(quantity, threshold):
        return text
    return f"{check.value:.12g} {quantity.unit}".rstrip() if quantity.unit in SCALED else f"{check.value:.12g}"


def labels(results: Results) -> dict[Key, str]:
    """Return the labels of the cases, by sweep and case."""
    return {(case["sweep"], case["case"]): results.full_label(case) for _, case in results.cases.iterrows()}


def reasons(found: Sequence[Check]) -> str:
    """Return the sentences on the conditions of a case, for a cell of a table."""
    return "; ".join(map(sentence, found))


def by_case(found: Sequence[Check]) -> dict[Key, list[Check]]:
    """Return the checked conditions of each case, by sweep and case."""
    cases: dict[Key, list[Check]] = {}
    for check in found:
        cases.setdefault((check.sweep, check.case), []).append(check)
    return cases


def summary(found: Sequence[Check]) -> str:
    """Return `2 of 3 cases accepted, 1 rejected`."""
    counts = Counter(worst(check.verdict for check in each) for each in by_case(found).values())
    others = [f"{counts[word]:,} {word}" for word in WORST_FIRST if word != ACCEPTED and counts[word]]
    return ", ".join([f"{counts[ACCEPTED]:,} of {plural(counts.total(), 'case')} accepted", *others])


def absence(required: Required) -> str:
    """Return what is wrong with a condition that no case can meet."""
    return required.problem or f"no case of {required.sweep} has the quantity '{required.quantity.title}'"
