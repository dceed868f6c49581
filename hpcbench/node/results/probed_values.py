"""The phases and the logged values of hpcbench_probe, as metrics of a run."""

import math
import re
from statistics import mean
from typing import Dict, List, Optional, Sequence

from ...core.metrics.value import KEPT
from ...core.record import MetricValue
from .probe_files import ProbedProcess, Values

PHASE = "phase_%s"  # name of the metric of a phase
_LONGEST = 60  # characters of a name


def phases(used: Sequence[ProbedProcess], slowest: Sequence[int], measured: range) -> Dict[str, MetricValue]:
    """Return the mean time in each phase over the measured steps; of each step, in its slowest process.

    `slowest` is the index in `used` of the slowest process of each step. The times of phases that do not overlap thus
    add up to at most the mean step time. A step without a phase counts as 0 s.
    """
    found: Dict[str, MetricValue] = {}
    for name in dict.fromkeys(name for each in used for name in each.phases):
        totals = [_by_step(each.phases.get(name, []), len(slowest)) for each in used]
        times = [(place, totals[slowest[place]][place]) for place in measured]
        key = PHASE % identifier(name)
        found[key] = _metric(times, mean([value for _, value in times]), "s", "lower", "mean")
    return found


def logged(process: ProbedProcess) -> Dict[str, MetricValue]:
    """Return the last value that a process has logged under each name, with at most KEPT of its values."""
    return {identifier(name): _metric(values, values[-1][1], "", None, "last") for name, values in process.logs.items()}


def identifier(name: str) -> str:
    """Return the name of a metric for a name in a program: `train_loss` for `train/loss`."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST]
    return plain if plain[:1].isalpha() else "value_" + plain


def _by_step(values: Values, count: int) -> List[float]:
    totals = [0.0] * count
    for step, seconds in values:
        if 0 <= step < count:
            totals[step] += seconds
    return totals


def _metric(values: Values, value: float, unit: str, better: Optional[str], reduce: str) -> MetricValue:
    finite = [(step, each) for step, each in values if math.isfinite(each)]
    kept = [finite[len(finite) * place // KEPT] for place in range(1, KEPT)] + finite[-1:]
    kept = finite if len(finite) <= KEPT else kept
    is_number = math.isfinite(value)
    return MetricValue(
        value=value if is_number else None,
        unit=unit,
        better=better,
        reduce=reduce,
        count=len(values),
        values=[each for _, each in kept],
        steps=[step for step, _ in kept],
        reason=None if is_number else "the last logged value is not finite: %s" % value,
    )
