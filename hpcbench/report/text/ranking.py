"""The ranking of one workload as columns of text, for terminal, page and papers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.flop_rates import BUS, BY_RULE, BYTES, EXACT
from hpcbench.analysis.cases.labels import cell, sizes_in_words
from hpcbench.analysis.cases.published import published_columns
from hpcbench.analysis.cases.quantities import (
    ACCURACY,
    MODELS,
    OF_TIME,
    QUANTITIES,
    THROUGHPUT,
    TIME,
    WALL_TIME,
    Quantity,
    as_reported,
)
from hpcbench.analysis.results import Workload
from hpcbench.analysis.stats.quantiles import PERCENTILES, short_name
from hpcbench.analysis.stats.ratio_text import times
from hpcbench.core.frameworks import FORWARD_TASKS, OPERATOR, TIME_TO_ACCURACY
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import INTERFERENCE, PROBED
from hpcbench.models.operators.catalog import OPERATORS, sizes_of
from hpcbench.report.text.numbers import SCALED, between, column_format, memory, rate_format
from hpcbench.report.text.predicted.ranking_columns import predicted_columns
from hpcbench.report.text.text_columns import NEVER, Column
from hpcbench.report.text.units import MEMORY_COLUMNS, apart, header_of

TAIL = "time_p99_s"  # additional column for inference
INTERVAL = "95 % CI"
# Values of Column.gives_way.
_TIME_OF_COMMANDS, _ITEMS, _SPEEDUP, _TAIL, _TFLOPS, _METRICS = 1, 2, 3, 4, 5, 6
_RATES = {EXACT: "TFLOP/s per device (counted)", BY_RULE: "TFLOP/s per device (6N)"}
_OF_OPERATORS = {EXACT: _RATES[EXACT], BYTES: "GB/s per device (counted)", BUS: "bus GB/s"}


def columns_of(work: Workload, quantity: Quantity, metrics: Mapping[str, Quantity]) -> list[Column]:
    """Return the columns of a ranking: identification, ranking quantity, times with intervals, counts of runs."""
    cases = work.cases
    of_commands = cases.iloc[0]["framework"] == COMMAND
    measured = _of_commands(cases, metrics) if of_commands else _of_models(cases, quantity, not work.is_combined)
    if quantity not in OF_TIME and quantity.column not in metrics:
        measured = [*measured_columns(cases, quantity), *measured]
    measured = [*measured, *_counts(cases), *predicted_columns(cases), *_published(cases)]
    return [*columns_in_words(cases, work.shown, measured), *measured]


def columns_in_words(rows: pd.DataFrame, shown: list[str], others: Sequence[Column]) -> list[Column]:
    """Return the columns that identify the cases. A user parameter named like one of the `others` keeps its prefix."""
    taken = {column.header for column in others}
    if "sizes" in shown and "operator" in rows:
        rows = rows.assign(sizes=_comparable_sizes(rows))
    headers = [name.replace("_", " ") if header_of(name) in taken else header_of(name) for name in shown]
    return [
        Column(header, _cells(rows[name], _writer(name)), is_text=_is_text(rows[name]), identifies=True)
        for name, header in zip(shown, headers, strict=True)
    ]


def _comparable_sizes(cases: pd.DataFrame) -> pd.Series[Any]:
    """Return the column `sizes`, with the default of each size that another case of the operator has."""
    given = [json.loads(sizes) if isinstance(sizes, str) else None for sizes in cases["sizes"]]
    named: dict[Any, set[str]] = defaultdict(set)
    for operator, sizes in zip(cases["operator"], given, strict=True):
        named[operator].update(sizes or ())
    texts = []
    for operator, sizes in zip(cases["operator"], given, strict=True):
        defaults = sizes_of(operator) if operator in OPERATORS else {}
        added = {name: value for name, value in defaults.items() if name in named[operator]}
        texts.append(None if sizes is None else json.dumps({**added, **sizes}, sort_keys=True))
    return pd.Series(texts, cases.index, dtype=object)


def heading(quantity: Quantity) -> str:
    """Return the heading of a quantity, with its unit if formatted values do not include it: `rate (it/s)`."""
    return _headed(quantity, "" if quantity.unit in SCALED else quantity.unit)


def _headed(quantity: Quantity, unit: str) -> str:
    short = short_name(quantity.column) if quantity.column in PERCENTILES else quantity.title.replace("_", " ")
    return f"{short} ({unit})" if unit else short


def _of_models(cases: pd.DataFrame, quantity: Quantity, are_compared: bool) -> list[Column]:
    learning = cases.iloc[0]["task"] == TIME_TO_ACCURACY
    columns = measured_columns(cases, TIME)
    if learning and (cases["models"] > 1).any() and quantity != MODELS:
        columns = [*measured_columns(cases, MODELS), *columns]
    if cases.iloc[0]["task"] in FORWARD_TASKS and quantity.column != TAIL and cases[TAIL].notna().any():
        columns += measured_columns(cases, QUANTITIES[TAIL], gives_way=_TAIL)
    if learning:
        columns.append(Column("epochs", _cells(cases["epochs"], "{:g}".format)))
        if quantity != ACCURACY:
            columns.append(Column("accuracy", _cells(cases["accuracy"], "{:.4f}".format)))
    else:
        columns.append(_rate(cases))
        if cases[BY_RULE].notna().any():  # of language models
            columns += [Column(name, _cells(cases[each], "{:,.3g}".format), _TFLOPS) for each, name in _RATES.items()]
        if cases.iloc[0]["task"] == OPERATOR:
            columns += _of_operators(cases)
        columns += _of_validation(cases)
    if not are_compared:
        return columns
    columns.append(Column("speedup", tuple("" if pd.isna(x) else times(x) for x in cases["speedup"]), _SPEEDUP))
    return columns + _interval(cases, ("speedup_ci_low", "speedup_ci_high"), times)


def _of_operators(cases: pd.DataFrame) -> list[Column]:
    """Return the columns of FLOPs and bytes, if any case has them."""
    shown = {each: name for each, name in _OF_OPERATORS.items() if cases[each].notna().any()}
    return [Column(name, _cells(cases[each], "{:,.3g}".format), _TFLOPS) for each, name in shown.items()]


def _of_validation(cases: pd.DataFrame) -> list[Column]:
    """Return the columns of validation, if any case has it."""
    columns = []
    if cases["validation"].notna().any():
        columns.append(Column("error / bound", _cells(cases["error_bound_ratio"], "{:.2g}".format)))
        columns.append(Column("validation", _cells(cases["validation"], str), is_text=True))
    return columns


def _published(cases: pd.DataFrame) -> list[Column]:
    """Return a column per device and precision of published times. Users ask for them, so none gives way."""
    return [
        Column("{} ({})".format(*apart(name)), _cells(cases[name], "{:,.3f}".format), may_move=True)
        for name in published_columns(cases)
    ]


def _rate(cases: pd.DataFrame) -> Column:
    rate = as_reported(THROUGHPUT, cases)
    return Column(rate.unit, _cells(cases[rate.column], rate_format(cases[rate.column])), _ITEMS)


def _of_commands(cases: pd.DataFrame, metrics: Mapping[str, Quantity]) -> list[Column]:
    """Return the columns of metrics and time of commands, whose work is unknown."""
    known = [metric for column, metric in metrics.items() if cases[column].notna().any()]
    if cases[PROBED].notna().any():
        return _of_steps(cases, known)
    columns = [column for metric in known for column in measured_columns(cases, metric)]
    if known:
        return [*columns, measured_columns(cases, WALL_TIME, _TIME_OF_COMMANDS)[0]]
    return measured_columns(cases, WALL_TIME)


def _of_steps(cases: pd.DataFrame, metrics: Sequence[Quantity]) -> list[Column]:
    """Return the columns of the steps of commands, and of their metrics without intervals, such as times of phases."""
    columns = measured_columns(cases, TIME)
    if cases[THROUGHPUT.column].notna().any():
        columns.append(_rate(cases))
    return [*columns, *(measured_columns(cases, metric, _METRICS)[0] for metric in metrics)]


def measured_columns(cases: pd.DataFrame, quantity: Quantity, gives_way: int = NEVER) -> list[Column]:
    """Return the column of a quantity, and of its interval if it has one, in one unit."""
    unit, written = column_format(quantity, cases[quantity.column])
    value = Column(_headed(quantity, unit), _cells(cases[quantity.column], written), gives_way)
    return [value, *_interval(cases, quantity.limits, written)]


def _interval(cases: pd.DataFrame, limits: tuple[str, str], written: Callable[[float], str]) -> list[Column]:
    low, high = limits
    if low not in cases or cases[low].isna().all():
        return []
    cells = tuple(between(*pair, written) for pair in zip(cases[low], cases[high], strict=True))
    return [Column(INTERVAL, cells, is_interval=True)]


def _counts(cases: pd.DataFrame) -> list[Column]:
    """Return a column with the number of runs and, if any had interference, a second one on these.

    Cells of the second column are `2 left out`, `6 used`, or, if runs that count are unmonitored,
    `4 left out, 1 unmonitored`.
    """
    columns = [Column("n", _cells(cases["runs"], str))]
    if (cases["interference_runs"] > 0).any():
        found = zip(cases["interference_runs"], cases["unmonitored"], cases["interference"], strict=True)
        columns.append(Column("interference", tuple(_interference(*each) for each in found)))
    return columns


def _interference(count: int, unmonitored: int, interference: str) -> str:
    if not count:
        return ""
    text = f"{count} {'used' if interference == INTERFERENCE else 'left out'}"
    return f"{text}, {unmonitored} unmonitored" if unmonitored else text


def _is_text(values: pd.Series[Any]) -> bool:
    return pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values)


def _writer(column: str) -> Callable[[Any], str]:
    if column == "sizes":
        return sizes_in_words
    return memory if column in MEMORY_COLUMNS else cell


def _cells(values: pd.Series[Any], written: Callable[[Any], str]) -> tuple[str, ...]:
    return tuple("-" if pd.isna(value) else written(value) for value in values)
