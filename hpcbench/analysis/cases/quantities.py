"""Quantities that reports rank by and plot: columns of the table of cases, with units and direction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from hpcbench.analysis.stats.quantiles import PERCENTILES, short_name
from hpcbench.config.metrics import PREFIX, interval_columns
from hpcbench.core.frameworks import OPERATOR
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import PROBED
from hpcbench.models.items import item_of

NOT_FOUND = ("metrics_not_found", "metrics_not_found_reason")  # columns: names of metrics of commands, and the reasons


@dataclass(frozen=True)
class Quantity:
    """A column of the table of cases. `better` is the comparative for a better value, for example `faster`.

    `more_is_better` is None for a metric of commands whose direction is not configured.
    """

    column: str
    title: str = field(compare=False)
    unit: str = field(default="", compare=False)  # empty for a ratio
    more_is_better: bool | None = False
    better: str = "better"
    irregular: tuple[str, str] | None = None  # interval columns, if not those of interval_columns
    measured_as: str = ""  # column of a run that it derives from, if another one

    @property
    def axis(self) -> str:
        """Return the title of an axis: `step time (s)`."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def limits(self) -> tuple[str, str]:
        """Return the columns of the 95 % CI."""
        return self.irregular or interval_columns(self.column)


TIME = Quantity("time_median_s", "step time", "s", better="faster", irregular=("time_ci_low_s", "time_ci_high_s"))
WALL_TIME = replace(TIME, title="wall time")  # the time of a command, equal to TIME
THROUGHPUT = Quantity("throughput_items_per_s", "throughput", "samples/s", more_is_better=True, better="faster")
SPEEDUP = Quantity("speedup", "speedup", more_is_better=True, better="faster")
MEMORY = Quantity("peak_memory_bytes", "peak memory of a task", "B", better="smaller")
LATENCIES = tuple(
    Quantity(column, f"{short_name(column)} of the step time", "s", better="faster") for column in PERCENTILES
)
PRICE = Quantity("price_per_million_items", "price per million items", better="cheaper")  # in the site's currency
ENERGY = Quantity(
    "energy_kwh_per_million_items",
    "energy per million items",
    "kWh",
    better="thriftier",
    measured_as="energy_measured_j_per_item",
)
# Of the task time_to_accuracy, over all its runs that trained to their end, also those that missed the target.
ACCURACY = Quantity("accuracy", "accuracy", more_is_better=True)
BEST_ACCURACY = Quantity("best_accuracy", "best accuracy", more_is_better=True)
ACCURACIES = (ACCURACY, BEST_ACCURACY)
MODELS = Quantity("models_per_minute", "training rate", "models/min", more_is_better=True, better="faster")
OF_TRAININGS = (*ACCURACIES, MODELS)  # only of the task time_to_accuracy
_ALL = (TIME, THROUGHPUT, SPEEDUP, MEMORY, *LATENCIES, PRICE, ENERGY, *OF_TRAININGS)
QUANTITIES = {each.column: each for each in _ALL}
# Of validations: the largest value of all runs, without intervals. Cases are not ranked by it: it may be 0.
OF_VALIDATIONS = (
    Quantity("error_bound_ratio", "error bound ratio", better="smaller"),
    Quantity("update_error", "update error", better="smaller"),
)
REQUIRABLE = QUANTITIES | {each.column: each for each in OF_VALIDATIONS}  # by `accept`
# Quantities that hpcbench does not know of commands, whose work it does not know.
OF_MODELS = (THROUGHPUT, *OF_TRAININGS)
# Quantities derived from the time, as are their intervals.
OF_TIME = (TIME, THROUGHPUT, SPEEDUP)


def short_column(column: str) -> str:
    """Return `throughput` for throughput_items_per_s, `rate` for metric_rate_it_per_s, `p99` for time_p99_s."""
    if column in (BEST_ACCURACY.column, *(each.column for each in OF_VALIDATIONS)):
        return column
    words = column.split("_")
    if column in PERCENTILES:
        return words[1]
    return words[1] if column.startswith(PREFIX) else words[0]


def price_of(cases: pd.DataFrame) -> Quantity:
    """Return PRICE with the currency of the cases as its unit."""
    return replace(PRICE, unit=next(iter(cases["currency"].dropna()), ""))


def follows_time(quantity: Quantity) -> bool:
    """Return whether a quantity derives from the time alone, as does the price, which is per hour."""
    return quantity in OF_TIME or quantity.column == PRICE.column


def items_of(*models: Any) -> str:
    """Return the items that these models process: `images` or `sequences`; `samples` for others and for several."""
    items = {item for model in models if isinstance(model, str) and (item := item_of(model))}
    return f"{items.pop() if len(items) == 1 else 'sample'}s"


def as_reported(quantity: Quantity, cases: pd.DataFrame) -> Quantity:
    """Return a quantity in the terms of reports: the throughput in its unit, the time of commands as wall time."""
    if quantity == TIME and (cases["framework"].eq(COMMAND) & cases[PROBED].isna()).all():
        return WALL_TIME
    if quantity == THROUGHPUT and cases["task"].eq(OPERATOR).all():
        return replace(quantity, unit="calls/s")
    return in_items_of(quantity, *cases["model"].unique())


def in_items_of(quantity: Quantity, *models: Any) -> Quantity:
    """Return the throughput with the unit for these models, and any other quantity as it is."""
    return replace(quantity, unit=f"{items_of(*models)}/s") if quantity == THROUGHPUT else quantity
