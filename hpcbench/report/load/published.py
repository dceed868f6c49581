"""Published times of operators, read from a CSV file in the format of DeepBench's results.

The columns of that format are device, precision, op, phase, time_ms and the sizes of the operators in the file; cells
of other sizes are empty.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from hpcbench.analysis.cases.published import PREFIX, Problem, Times, with_published_times
from hpcbench.analysis.results import Results
from hpcbench.config.matrix.csv_file import CsvError, CsvTable, parse_csv, read_text
from hpcbench.errors import UserError, nearest
from hpcbench.models.operators.catalog import operator_of
from hpcbench.models.operators.operator import BOTH, FORWARD, OF_INPUTS, OF_WEIGHTS

_GUIDE = "see docs/guides/operators.md#deepbench for the columns"
_NAMES = ("device", "precision", "op", "phase", "time_ms")
_ALL_REDUCE = "all_reduce"  # its operator and its phase
_PHASES = {phase: phase for phase in (FORWARD, OF_INPUTS, OF_WEIGHTS)} | {"backward": BOTH, _ALL_REDUCE: FORWARD}
_TRANSPOSED = {"N": False, "T": True}


class _Operator(NamedTuple):
    """An operator of the format: its name here, and the columns of its sizes."""

    name: str
    sizes: Mapping[str, str]


def _named(operator: str, sizes: str) -> _Operator:
    return _Operator(operator, {size: size for size in sizes.split()})


def _cell(operator: str) -> _Operator:
    return _Operator(operator, {"hidden": "hidden", "batch": "n", "timesteps": "timesteps"})


_OPERATORS = {
    "gemm": _named("gemm", "m n k a_trans b_trans"),
    "conv": _named("conv2d", "n c_in h w c_out filter_h filter_w pad_h pad_w stride_h stride_w"),
    "rnn_vanilla": _cell("rnn_cell"),
    "lstm": _cell("lstm_cell"),
    "gru": _cell("gru_cell"),
    _ALL_REDUCE: _named("all_reduce", "floats"),
}
_RANKS = "ranks"  # the column of the number of tasks


@dataclass(frozen=True)
class Published:
    """The published times of a file."""

    file: str
    times: Times


def read_published(file: str) -> Published:
    """Return the times of a file. Raise UserError, located in the file, if it has another format."""
    if not Path(file).exists():
        raise UserError(f"file '{file}' not found", where="--published", hint="name a CSV file")
    try:
        table = CsvTable.of({file: parse_csv(read_text(Path(file)))})
    except CsvError as error:
        where = f"{file}:{error.line}" if error.line else file
        raise UserError(error.what, where=where, hint=error.hint) from error
    _check_columns(table)
    times: dict[str, dict[Problem, list[float]]] = defaultdict(lambda: defaultdict(list))
    for index, (_, line) in enumerate(table.lines):
        row = table.row(index, table.columns)
        try:
            times[_column(row)][_problem(row)].append(_time(row["time_ms"]))
        except ValueError as error:
            raise UserError(str(error), where=f"{file}:{line}", hint=_GUIDE) from error
    return Published(
        file, {column: {each: median(found) for each, found in of.items()} for column, of in times.items()}
    )


def with_published(results: Results, published: Published | None) -> Results:
    """Return the results with published times as columns of the cases, if there are any."""
    if published is None:
        return results
    cases = with_published_times(results.cases, published.times)
    return replace(results, cases=cases, published_in=published.file)


def _check_columns(table: CsvTable) -> None:
    file, line = next(iter(table.headers.values()))
    for name in _NAMES:
        if name not in table.columns:
            raise UserError(f"column '{name}' not found", where=f"{file}:{line}", hint=_GUIDE)
    for op in dict.fromkeys(table.columns["op"]):
        for name in _sizes(op):
            if name not in table.columns:
                what = f"column '{name}' not found; op '{op}' requires it"
                raise UserError(what, where=f"{file}:{line}", hint=_GUIDE)


def _sizes(op: Any) -> Iterable[str]:
    """Return the columns of the sizes of an operator of the format; none if it is unknown, which its row reports."""
    operator = _OPERATORS.get(op)
    if operator is None:
        return ()
    return (*operator.sizes.values(), _RANKS) if op == _ALL_REDUCE else operator.sizes.values()


def _column(row: Mapping[str, Any]) -> str:
    """Return the column of a device and a precision: `published_ms_NV_P100_Float`."""
    return PREFIX + re.sub(r"\W+", "_", f"{row['device']} {row['precision']}")


def _problem(row: Mapping[str, Any]) -> Problem:
    """Return the problem of a row. Raise ValueError if it is not one."""
    operator = _OPERATORS.get(row["op"])
    if operator is None:
        raise ValueError(f"unknown op '{row['op']}'; {nearest(str(row['op']), _OPERATORS)}")
    phase = _PHASES.get(row["phase"])
    if phase is None:
        raise ValueError(f"unknown phase '{row['phase']}'; {nearest(str(row['phase']), _PHASES)}")
    sizes = {size: _TRANSPOSED.get(row[column], row[column]) for size, column in operator.sizes.items()}
    found = operator_of(operator.name, sizes)
    ranks = row[_RANKS] if found.is_collective else 1
    if type(ranks) is not int or ranks < 1:
        raise ValueError(f"{_RANKS} must be a positive integer, not {ranks!r}")
    return found, phase, ranks


def _time(value: Any) -> float:
    """Return a time in ms. Raise ValueError if it is not a positive number."""
    if type(value) not in (int, float) or not value > 0:
        raise ValueError(f"time_ms must be a positive number, not {value!r}")
    return float(value)
