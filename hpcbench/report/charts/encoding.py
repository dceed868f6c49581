"""The encoding of columns as axes, colours and facets of a chart: by the number of axes, or as given by --plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.analysis.cases.labels import column_called, plain
from hpcbench.analysis.cases.quantities import Quantity, short_column
from hpcbench.errors import UserError, nearest
from hpcbench.report.charts.components import is_numeric
from hpcbench.report.charts.theme import COLOURS

if TYPE_CHECKING:
    from hpcbench.analysis.results import Workload

MAX_COLOURS = len(COLOURS)
MAX_FACETS = 12
MAX_POINTS = 2000  # points in a chart
MAX_NAMES = 40  # names on an axis
_KEYS = ("x", "y", "color", "facet")


@dataclass(frozen=True)
class Encoding:
    """The columns of a chart of cases. Without `x`, rows are cases by name. `heat` is a heat map: `x` and `colour` are
    its numeric axes, and the colour is the quantity."""

    quantity: Quantity
    x: str | None = None
    colour: str | None = None
    facet: str | None = None
    heat: bool = False

    @property
    def columns(self) -> list[str]:
        """Return the columns of the encoding that are set."""
        return [name for name in (self.x, self.colour, self.facet) if name]


def choose(work: Workload, quantity: Quantity) -> Encoding | None:
    """Return the default encoding: points for one axis, lines or a heat map for two, facets for three.

    Return None for more axes, or more than MAX_POINTS cases.
    """
    cases = work.cases
    if len(cases) > MAX_POINTS:
        return None
    numbers = [name for name in work.shown if is_numeric(cases[name])]
    kinds = sorted((name for name in work.shown if name not in numbers), key=lambda name: cases[name].nunique())
    if len(work.shown) == 2 and len(numbers) == 2 and _fills(cases, numbers):
        return Encoding(quantity, x=numbers[0], colour=numbers[1], heat=True)
    x = max(numbers, key=lambda name: cases[name].nunique(), default=None)
    others = [name for name in [*kinds, *numbers] if name != x]
    if x is None:  # names on the axis, and a column with few values as colour
        shown = [name for name in others if name == "framework" or cases[name].nunique() <= MAX_COLOURS]
        colour = "framework" if "framework" in shown else shown[0] if len(others) > 1 and shown else None
        return Encoding(quantity, colour=colour) if len(others) < 4 else None
    if len(others) > 2:
        return None
    few = [name for name in others if cases[name].nunique() <= MAX_COLOURS]
    if others and not few:
        return Encoding(quantity)
    colour = "framework" if "framework" in few else few[0] if few else None
    facet = next((name for name in others if name != colour), None)
    if facet and cases[facet].nunique() > MAX_FACETS:
        return Encoding(quantity)
    return Encoding(quantity, x, colour, facet)


def _fills(cases: pd.DataFrame, columns: list[str]) -> bool:
    """Return whether the cases fill more than half of the grid of two columns, without duplicates."""
    counts = [cases[name].nunique() for name in columns]
    return min(counts) > 1 and len(cases) == len(cases[columns].drop_duplicates()) > counts[0] * counts[1] / 2


def parse(text: str, cases: pd.DataFrame, quantities: dict[str, Quantity], ranked_by: Quantity) -> Encoding:
    """Parse `x=nodes,y=throughput,color=framework,facet=model`. Raise UserError if it is not valid."""
    given: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        key = "color" if key == "colour" else key
        if not equals or key not in _KEYS or key in given or not value:
            what = f"'{part}' is not one of {', '.join(f'{name}=COLUMN' for name in _KEYS)}, each at most once"
            raise UserError(what, where="--plot", hint="as in: --plot x=nodes,y=throughput,color=framework,facet=model")
        given[key] = value
    y = _quantity(given["y"], quantities) if "y" in given else ranked_by
    columns = {key: _column(name, cases) for key, name in given.items() if key != "y"}
    for key, column in columns.items():
        if cases[column].isna().all():
            hint = "see the columns of --csv"
            raise UserError(f"no case has a value of {plain(column)}", where=f"--plot {key}=", hint=hint)
    names = cases[columns["x"]].dropna() if "x" in columns else pd.Series([])
    if not is_numeric(names) and names.nunique() > MAX_NAMES:
        what = f"'{given['x']}' has {names.nunique():,} values that are not numbers, more than {MAX_NAMES}"
        raise UserError(what, where="--plot x=", hint="without x=, each case gets its own row")
    facets = cases[columns["facet"]].nunique() if "facet" in columns else 0
    if facets > MAX_FACETS:
        what = f"'{given['facet']}' has {facets:,} values, more than {MAX_FACETS}"
        raise UserError(what, where="--plot facet=", hint="use it for x= or color=")
    return Encoding(y, columns.get("x"), columns.get("color"), columns.get("facet"))


def _quantity(name: str, quantities: dict[str, Quantity]) -> Quantity:
    found = [each for column, each in quantities.items() if column == name or short_column(column) == name]
    if len(found) != 1:
        known = [*quantities, *map(short_column, quantities)]
        raise UserError(f"'{name}' is not a quantity of these cases", where="--plot y=", hint=nearest(name, known))
    return found[0]


def _column(name: str, cases: pd.DataFrame) -> str:
    column = column_called(name, cases)
    if column not in cases:
        raise UserError(f"unknown column '{name}'", where="--plot", hint=nearest(name, map(plain, cases.columns)))
    return column
