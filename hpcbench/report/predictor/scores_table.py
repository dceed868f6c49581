"""Print an evaluation of the predictor: one line per test, per choice, and per reason of refused rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hpcbench.predict.evaluation.scores import ALL, Score
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.evaluation.choices import Choice
    from hpcbench.predict.evaluation.evaluate import Evaluation

_MOST_REASONS = 10
_UNDESCRIBED = "description of device "
_DESCRIBE = (
    "to describe devices: devices.csv in the data (docs/reference/predictor-data.md), or configs/devices "
    "(docs/reference/devices.md)"
)
_SCORES = ("test", "devices", "n", "MAPE %", "median %", "bias %", "coverage", "worst", "width", "refused")
_CHOICES = ("choice", "n", "right %", "regret %", "worst regret %")


def print_evaluation(result: Evaluation, console: Console) -> None:
    """Print the scores, the choices and the reasons of refused rows."""
    if result.scores:
        _print(_SCORES, [_score(each) for each in result.scores], 2, console)
    else:
        console.print("no targets to compare: predictions only", markup=False)
    if result.choices:
        console.print()
        _print(_CHOICES, [_choice(each) for each in result.choices], 1, console)
    if result.reasons:
        console.print()
    for reason, count in list(result.reasons.items())[:_MOST_REASONS]:
        console.print(f"refused: {plural(count, 'prediction')}: {reason}", markup=False, soft_wrap=True)
    if len(result.reasons) > _MOST_REASONS:
        console.print(f"refused: {len(result.reasons) - _MOST_REASONS} further reasons", markup=False)
    if any(reason.startswith(_UNDESCRIBED) for reason in result.reasons):
        console.print(_DESCRIBE, markup=False, soft_wrap=True)


def _print(headers: tuple[str, ...], rows: list[tuple[str, ...]], texts: int, console: Console) -> None:
    """Print a table whose first columns are text."""
    table = Table(box=None, pad_edge=False)
    for place, header in enumerate(headers):
        table.add_column(header, justify="left" if place < texts else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _score(each: Score) -> tuple[str, ...]:
    name = f"{each.file} {each.quantity}" if each.part == ALL else f"  {each.part}"
    errors = (f"{each.mape:.1f}", f"{each.median_ape:.1f}", f"{each.bias:+.1f}")
    interval = (f"{each.coverage:.2f}", f"{each.worst_coverage:.2f}", f"{each.width:.2f}")
    numbers = (f"{each.rows:,}", *errors, *interval, f"{each.refused:,}")
    return (name, each.devices, *(_or_dash(number) for number in numbers))


def _choice(each: Choice) -> tuple[str, ...]:
    numbers = (f"{each.choices:,}", f"{100 * each.right:.1f}", f"{each.regret:.1f}", f"{each.worst_regret:.1f}")
    return (f"{each.file} {each.quantity}: {each.question}", *(_or_dash(number) for number in numbers))


def _or_dash(number: str) -> str:
    return "-" if math.isnan(float(number.replace(",", ""))) else number
