"""What one gets who chooses the fastest of several cases: less than the fastest seems to be.

The best of many settings is also the luckiest: the repetitions that made it the best say too much of it. So each
repetition is told by a setting that the others have chosen (Stone, 1974, "Cross-validatory choice and assessment of
statistical predictions", Journal of the Royal Statistical Society B 36; Varma and Simon, 2006, "Bias in error
estimation when using cross-validation for model selection", BMC Bioinformatics 7:91): repetition r is that of the
case which is fastest without it. Of n repetitions n - 1 choose, which does no worse than all would by more than noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from hpcbench.analysis.cases.case_table import Row
from hpcbench.analysis.stats.intervals import median_of
from hpcbench.core.samples import SAMPLES

FEWEST = 2  # repetitions; of one, nothing is left to choose by


def as_chosen(cases: Sequence[Sequence[Row]]) -> list[Row]:
    """The repetitions that one gets, of those of several cases: all of a single one; none where too few can be told by
    what others have chosen."""
    if len(cases) == 1:
        return list(cases[0])
    rows = [{row["repetition"]: row for row in repetitions} for repetitions in cases]
    times = [{number: median_of(row[SAMPLES]) for number, row in each.items()} for each in rows]
    found = []
    for number in sorted({number for each in times for number in each}):
        place = _fastest_without(number, times)
        if place is not None and number in rows[place]:
            found.append(rows[place][number])
    return found if len(found) >= FEWEST else []


def _fastest_without(number: int, times: Sequence[Mapping[int, float]]) -> int | None:
    """The place of the case whose other repetitions have the lowest median."""
    others = [[time for other, time in each.items() if other != number] for each in times]
    known = {place: median(values) for place, values in enumerate(others) if values}
    return min(known, key=known.__getitem__, default=None)
