"""A parameter as a factor: its values in order, and the value of each case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.config.names import USER_PARAMETER

MAX_LEVELS = 16  # with more, levels have too few cases each
BINS = 8
UNSET = "unset"

Codes = NDArray[np.intp]


class Factor(NamedTuple):
    """A factor: `codes` holds the index into `levels` of each case. Null is a level."""

    names: tuple[str, ...]  # the parameter, and those that it determines
    levels: tuple[Any, ...]
    codes: Codes
    bins_of: int = 0  # number of values before binning; 0 without binning

    @property
    def name(self) -> str:
        """Return `intra_op_threads (with cpus_per_task)`, or `batch_size (1,000 values in 8 bins)`."""
        first, *others = (name.removeprefix(USER_PARAMETER) for name in self.names)
        more = [f"with {', '.join(others)}"] if others else []
        more += [f"{self.bins_of:,} values in {BINS} bins"] if self.bins_of else []
        return f"{first} ({'; '.join(more)})" if more else first


def factor_of(name: str, column: pd.Series[Any]) -> Factor:
    """Return a column as a factor: numbers sorted, other values in the order of the rows, null first.

    Numbers with more than MAX_LEVELS values are put into BINS bins of about equally many cases.
    """
    codes, found = pd.factorize(column.astype(object))
    levels = list(found)
    if levels and all(isinstance(level, (int, float, np.number)) for level in levels):
        order = np.argsort(np.array(levels, dtype=np.float64), kind="stable")
        codes = np.append(np.argsort(order), -1)[codes]  # a null has the code -1, which indexes the last element
        levels = [levels[place] for place in order]
        if len(levels) > MAX_LEVELS:
            return _binned(name, levels, codes)
    null = bool((codes < 0).any())
    return Factor((name,), (*([None] if null else []), *levels), codes + null)


def _binned(name: str, values: list[Any], codes: Codes) -> Factor:
    """Return a binned factor of sorted `values`; null, code -1, is a separate level."""
    known = codes >= 0
    edges = np.unique(np.quantile(codes[known], np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
    places, bins = np.unique(np.searchsorted(edges, codes[known]), return_inverse=True)
    levels = []
    for place in range(places.size):
        inside = codes[known][bins == place]
        ends = dict.fromkeys(text(values[end]) for end in (inside.min(), inside.max()))
        levels.append(" to ".join(ends))
    null = not known.all()
    result = np.zeros_like(codes)
    result[known] = bins + null
    return Factor((name,), (*([None] if null else []), *levels), result, bins_of=len(values))


def follows(codes: Codes, others: Codes) -> bool:
    """Return whether each code of `others` determines the code of `codes`."""
    answer = np.zeros(int(others.max(initial=0)) + 1, dtype=np.intp)
    answer[others] = codes
    return bool(np.array_equal(answer[others], codes))


def joined(factors: Sequence[Factor], blocks: Codes | None = None) -> list[Factor]:
    """Return the factors; one that another factor determines is merged with it, since their effects are not separable.

    `blocks` is the block of each case: with it, factors are merged if one determines the other within each block.
    """
    within = [factor.codes if blocks is None else crossed(factor.codes, blocks) for factor in factors]
    kept: list[tuple[Factor, Codes]] = []
    for factor, codes in sorted(zip(factors, within, strict=True), key=lambda each: -np.unique(each[1]).size):
        place = next((place for place, (_, others) in enumerate(kept) if follows(codes, others)), None)
        if place is None:
            kept.append((factor, codes))
        else:
            other, others = kept[place]
            kept[place] = other._replace(names=(*other.names, *factor.names)), others
    return [factor for factor, _ in kept]


def crossed(one: Codes, other: Codes) -> Codes:
    """Return for each case the code of its combination of two codes, numbered from 0 without gaps."""
    combined = one * (int(other.max(initial=0)) + 1) + other
    codes: Codes = np.unique(combined, return_inverse=True)[1].astype(np.intp)
    return codes


def text(value: Any) -> str:
    """Return the value of a parameter for a sentence."""
    if value is None or value is pd.NA or value != value:
        return UNSET
    return f"{value:.15g}" if isinstance(value, float) else str(value)
