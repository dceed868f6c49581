"""The times of phases that hpcbench_probe recorded, as metrics of a run."""

from array import array
from typing import Any, Dict, Iterable, Sequence, Tuple

from ...core.metrics.logged import PHASE, identifier, of_values
from .probe_files import ProbedProcess


def phases(used: Sequence[ProbedProcess], slowest: Sequence[int], measured: range) -> Dict[str, Dict[str, Any]]:
    """Return the mean time of each phase per measured step. For each step, the slowest process counts.

    `slowest` is the index in `used` of the slowest process of each step. The times of phases that do not overlap thus
    add up to at most the mean step time. A step without a phase counts as 0 s.
    """
    found: Dict[str, Dict[str, Any]] = {}
    for name in dict.fromkeys(name for each in used for name in each.phases):
        totals = [_by_step(each.phases.get(name, ()), len(slowest)) for each in used]
        times = [(place, totals[slowest[place]][place]) for place in measured]
        found[PHASE + identifier(name)] = of_values(times, "s", "lower", "mean")
    return found


def _by_step(values: Iterable[Tuple[int, float]], count: int) -> Sequence[float]:
    totals = array("d", bytes(8 * count))
    for step, seconds in values:
        if 0 <= step < count:
            totals[step] += seconds
    return totals
