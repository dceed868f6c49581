"""The quantity to optimize: throughput, step time, or a metric of a command."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hpcbench.analysis.cases.quantities import THROUGHPUT, TIME, Quantity
from hpcbench.analysis.stats.intervals import median_of
from hpcbench.config.experiment import Experiment
from hpcbench.config.metrics import column_of
from hpcbench.core.metrics.value import better as better_of
from hpcbench.core.record import Record
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.status import COMPLETED
from hpcbench.errors import UserError, nearest
from hpcbench.plan.case import Case

_NAMED = {"throughput": THROUGHPUT, "time": TIME}


@dataclass(frozen=True)
class Objective:
    """A quantity to minimize or maximize."""

    quantity: Quantity

    @property
    def is_throughput(self) -> bool:
        """Return whether it is the throughput, which compares different batch sizes."""
        return self.quantity == THROUGHPUT

    def cost_of(self, record: Record) -> float | None:
        """Return the cost of a run; lower is better. Return None if it did not complete or has no finite value above 0.

        The cost is the seconds per item or step, or the metric, or the inverse of a metric if higher is better.
        """
        value = self._value(record) if record.status == COMPLETED else None
        if value is None or not 0 < value < math.inf:
            return None
        return 1 / value if self.quantity.more_is_better and not self.is_throughput else value

    def why_unknown(self, record: Record) -> str:
        """Return why a run has no cost, as text."""
        if record.status != COMPLETED:
            return record.in_words
        value = self._value(record)
        if value is None:
            return record.message or f"it has no {self.quantity.title}"
        return f"its {self.quantity.title} is {value:g}; a search requires finite numbers above 0"

    def _value(self, record: Record) -> float | None:
        if self.quantity not in (THROUGHPUT, TIME):
            found = (record.metrics or {}).get(self.quantity.title)
            return None if found is None else found.value
        times = record.measurements.times_s if record.measurements else ()
        if not times:
            return None
        time_s = median_of(np.asarray(times, dtype=np.float64))
        if not self.is_throughput:
            return time_s
        items = record.work.items_per_step if record.work else None
        return time_s / items if items else None

    def value_of(self, cost: float) -> float:
        """Return the value of the quantity for a cost: the inverse of `cost_of`."""
        return 1 / cost if self.quantity.more_is_better else cost


def default_metric(cases: Sequence[Case], experiment: Experiment) -> str:
    """Return the name of the metric to optimize if the user names none: throughput.

    For commands it is the first metric with a known direction, otherwise the time; also if models are among the
    cases.
    """
    commands = [case for case in cases if case.parameters.framework == COMMAND]
    if not commands:
        return "throughput"
    known = [name for name, metric in experiment.metrics.items() if better_of(metric.model_dump()) is not None]
    return known[0] if known and len(commands) == len(cases) else "time"


def objective_of(name: str, experiment: Experiment) -> Objective:
    """Return the objective `rate` or `rate:higher` (a metric), `throughput` or `time`. Raise UserError for others."""
    plain, _, way = name.partition(":")
    metric = experiment.metrics.get(plain)
    if metric is None and name in _NAMED:
        return Objective(_NAMED[name])
    if metric is None:
        hint = nearest(plain, [*_NAMED, *experiment.metrics])
        raise UserError(f"the experiment has no metric '{name}'", where="--metric", hint=hint)
    if way not in ("", "higher", "lower"):
        raise UserError(f"'{name}' has an unknown direction", where="--metric", hint="add :higher or :lower")
    better = way or better_of(metric.model_dump())
    if better is None:
        raise UserError(
            f"the better direction of '{plain}' is unknown",
            where="--metric",
            hint=f"add it: --metric {plain}:higher or --metric {plain}:lower",
        )
    return Objective(Quantity(column_of(plain, metric.unit), plain, metric.unit, better == "higher"))
