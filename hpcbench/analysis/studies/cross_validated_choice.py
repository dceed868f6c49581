"""Choose the fastest of several cases by cross-validation, which removes the bias of choosing the best.

The runs that select a configuration overestimate its performance. So run r is that of the case that is
fastest by the others (Stone, 1974, "Cross-validatory choice and assessment of statistical predictions", Journal of the
Royal Statistical Society B 36; Varma and Simon, 2006, "Bias in error estimation when using cross-validation for model
selection", BMC Bioinformatics 7:91). The choice by n - 1 of n runs is only slightly noisier than by all n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from hpcbench.analysis.cases.case_table import Row
from hpcbench.analysis.stats.intervals import median_of
from hpcbench.core.samples import SAMPLES

MIN_REPETITIONS = 2  # one run chooses, another one is the result


def as_chosen(cases: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the runs of the cross-validated choice; all of a single case; none with too few runs."""
    if len(cases) == 1:
        return list(cases[0])
    rows = [{row["run"]: row for row in repetitions} for repetitions in cases]
    times = [{number: median_of(row[SAMPLES]) for number, row in each.items()} for each in rows]
    found = []
    for number in sorted({number for each in times for number in each}):
        place = _fastest_without(number, times)
        if place is not None and number in rows[place]:
            found.append(rows[place][number])
    return found if len(found) >= MIN_REPETITIONS else []


def _fastest_without(number: int, times: Sequence[Mapping[int, float]]) -> int | None:
    """Return the index of the case whose other runs have the lowest median."""
    others = [[time for other, time in each.items() if other != number] for each in times]
    known = {place: median(values) for place, values in enumerate(others) if values}
    return min(known, key=known.__getitem__, default=None)
