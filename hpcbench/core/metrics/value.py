"""A metric of a command: numbers from its output or from a file, reduced to one.

Four options find numbers in a text:

- `regex`: the group `value`, or the only group, of each match; `^` and `$` match at each line. If the program prints
varying units, the group `unit` matches the unit, and the number is converted to the unit of the metric.
- `json`: a path such as `runs[0].rate` in each JSON document of the text, also within other output.
- `mllog`: a key of an MLPerf log, such as `eval_accuracy`, or a path that begins with a key.
- `csv`: a column by its name in the header, with commas, semicolons, tabs, vertical bars or spaces between cells.
"""

import csv
import math
import sys
from statistics import mean, median
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from .error import SHOWN, MetricError
from .json_documents import at_path, of_mllog
from .numbers import number
from .patterns import Found, matches
from .tables import column
from .units import TIMES

REDUCTIONS: Dict[str, Callable[[List[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "mean": mean,
    "median": median,
    "max": max,
    "sum": math.fsum,
    "min": min,
}
KEPT = 1000  # values that a record holds; a long training logs more

Spec = Dict[str, Any]  # one metric of the experiment file, by the names of config/metrics.py


def value_of(spec: Spec, texts: Iterable[str], place: str, missing: str = "") -> Dict[str, Any]:
    """Return a metric as a record holds it, from all the texts of `place`; `missing` describes what they lack.

    Raise MetricError if the texts have no number, a value that is not a number, or several numbers without `reduce`.
    """
    values: List[float] = []
    units: List[str] = []
    looked_for, last = described(spec), ""
    try:
        for text in texts:
            for found in found_in(spec, text):
                values.append(found.value)
                units.append(sys.intern(found.unit))
            last = text.strip() or last
    except (MetricError, csv.Error) as error:
        raise MetricError("%s in %s: %s" % (looked_for, place, error)) from error
    if not values:
        ends = ", which ends: %s" % last.splitlines()[-1][-SHOWN:] if last else ", which is empty"
        raise MetricError("%s was not found in %s%s" % (looked_for, place, "; %s" % missing if missing else ends))
    if spec["reduce"] is None and len(values) > 1:
        shown = ", ".join("%g" % value for value in values[:5]) + (", ..." if len(values) > 5 else "")
        counted = "%s was found %d times in %s: %s" % (looked_for, len(values), place, shown)
        raise MetricError("%s; set `reduce` to combine them" % counted)
    used = {"first": slice(1), "last": slice(-1, None)}.get(spec["reduce"] or "first", slice(None))
    if any(map(math.isnan, values[used])):
        raise MetricError("%s in %s has a value that is not finite" % (looked_for, place))
    try:
        value = REDUCTIONS[spec["reduce"] or "first"](values)
    except (OverflowError, ValueError) as error:  # for numbers near the largest float
        raise MetricError("`reduce: %s` is impossible: %s" % (spec["reduce"], error)) from error
    kept = {"count": len(values), "values": [each for each in values if not math.isnan(each)][:KEPT]}
    printed = ", ".join(dict.fromkeys(filter(None, units[used])))
    unit = {"unit": spec["unit"], **({"printed_unit": printed} if printed else {})}
    return {"value": value, **unit, "better": better(spec), "reduce": spec["reduce"], **kept}


def described(spec: Spec) -> str:
    """Return the description of what a metric searches for, such as `the column 'rate'`."""
    if spec["regex"] is not None:
        return "the pattern '%s'" % spec["regex"]
    if spec["mllog"]:
        return "the key '%s' of the MLPerf log" % spec["mllog"]
    return "the JSON path '%s'" % spec["json_path"] if spec["json_path"] else "the column '%s'" % spec["csv"]


def better(spec: Spec) -> Optional[str]:
    """Return whether `higher` or `lower` is better by the experiment or the unit, or None if neither defines it."""
    unit: str = spec["unit"]
    given: Optional[str] = spec["better"]
    return given or ("higher" if unit.endswith("/s") else "lower" if unit in TIMES else None)


def not_found(spec: Spec, reason: str) -> Dict[str, Any]:
    """Return a metric without a value, as a record holds it."""
    return {"value": None, "unit": spec["unit"], "better": better(spec), "reduce": spec["reduce"], "reason": reason}


def found_in(spec: Spec, text: str) -> Iterator[Found]:
    """Yield the numbers that a metric finds in a text. Raise MetricError if a value is not a number."""
    decimal: Optional[str] = spec["decimal"]
    if spec["regex"] is not None:
        return matches(spec["regex"], spec["unit"], decimal, text)
    if spec["json_path"]:
        values: Iterator[Any] = at_path(spec["json_path"], text)
    else:
        values = of_mllog(spec["mllog"], text) if spec["mllog"] else column(spec["csv"], text)
    return (Found(number(value, decimal)) for value in values)
