"""Whether the classes that each rank is trained on are those of the data: Pearson's chi-square test.

The counts of a rank in one epoch are compared with the shares of the classes in the training split. A rank gets items
without replacement, so that the counts vary less than the test assumes, and the p-value is conservative.

Epochs are tested one by one: a rank may have the same items in each, and the sum of equal counts would have twice the
statistic. Bonferroni's correction is valid however ranks and epochs depend on one another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from hpcbench.core.record import Record

COLUMN = "class_bias_p_value"
_MOST_TERMS = 10_000
_SMALL = 1e-16


def class_bias_columns(record: Record) -> dict[str, Any]:
    """Return the smallest p-value over ranks and epochs, times their number; None if classes were not counted."""
    check = record.validation.data if record.validation else None
    if check is None or not check.class_counts:
        return {COLUMN: None}
    values = [p_value(counts, check.split_class_counts) for epoch in check.class_counts for counts in epoch]
    return {COLUMN: min(1.0, len(values) * min(values))}


def p_value(counts: Sequence[int], split: Sequence[int]) -> float:
    """Return the probability of counts at least as far from the shares of the classes in `split`, if they are equal.

    Classes at the end may be left out if there are none of them. Without any counts or split, the probability is 1.
    """
    if not sum(counts) or not sum(split):
        return 1.0
    share = sum(counts) / sum(split)
    pairs = list(zip_longest(counts, split, fillvalue=0))
    if any(count for count, size in pairs if not size):
        return 0.0  # a class that the split does not have
    known = [(count, share * size) for count, size in pairs if size]
    statistic = sum((count - expected) ** 2 / expected for count, expected in known)
    return chi_square_tail(len(known) - 1, statistic)


def chi_square_tail(freedom: int, value: float) -> float:
    """Return the probability that chi-square is above `value` (Abramowitz and Stegun, 1964, 26.4.19).

    It is the incomplete gamma function Q(freedom / 2, value / 2): by its series 6.5.29, or far out by its continued
    fraction 6.5.31, evaluated from its end.
    """
    a, x = freedom / 2, value / 2
    if a == 0 or x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in range(1, _MOST_TERMS):
            term *= x / (a + k)
            total += term
            if term < _SMALL * total:
                break
        return max(0.0, 1 - front * total)
    below = x
    for k in range(200 + 2 * int(a**0.5) * 10, 0, -1):
        below = x + (k - a) / (1 + k / below)
    return front / below
