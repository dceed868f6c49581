"""A metric of a command: numbers from its output or from a file, reduced to one.

Three options find numbers in a text:

- `regex`: the group `value`, or the only group, of each match; `^` and `$` match at each line. If the program prints
a time in varying units, the group `unit` matches the unit, and the number is converted to the unit of the metric.

- `json`: a path such as `runs[0].rate`. The text is one JSON document, or has JSON documents on lines of their own.

- `csv`: a column by its name in the header, with commas, semicolons or tabs between the cells.
"""

import csv
import io
import json
import math
import re
from statistics import mean, median
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Union

REDUCTIONS: Dict[str, Callable[[List[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "mean": mean,
    "median": median,
    "max": max,
    "sum": math.fsum,
    "min": min,
}
# Nanoseconds per unit. A lower time is better; a higher rate, for example it/s, is better.
TIMES = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "min": 6 * 10**10}
TIMES["h"] = 60 * TIMES["min"]

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_PART = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>-?[0-9]+|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")
_CUT_OBJECT = re.compile(r'\s*\{\s*"')  # not the repr of a Python dict, which has single quotes
_DELIMITERS = ",;\t"
_SHOWN = 60  # characters of what was found, in a message
KEPT = 1000  # values that a record holds; a long training logs more

Spec = Dict[str, Any]  # one metric of the experiment file, by the names of config/metrics.py
Step = Union[str, int, None]  # step of a JSON path: a key, an index, or None for every element


class MetricError(Exception):
    """A metric has no value. The message says what was searched for and what was found."""


def value_of(name: str, spec: Spec, texts: Iterable[str], place: str) -> Dict[str, Any]:
    """Return a metric as a record holds it, from all the texts of `place`.

    Raise MetricError if the texts have no number, a value that is not a number, or several numbers without `reduce`.
    """
    values: List[float] = []
    looked_for, last = described(spec), ""
    try:
        for text in texts:
            values += found_in(spec, text)
            last = text.strip() or last
    except (MetricError, csv.Error) as error:
        raise MetricError("metric '%s': %s in %s: %s" % (name, looked_for, place, error)) from error
    if not values:
        ends = "which ends: %s" % last.splitlines()[-1][-_SHOWN:] if last else "which is empty"
        raise MetricError("metric '%s': %s was not found in %s, %s" % (name, looked_for, place, ends))
    if spec["reduce"] is None and len(values) > 1:
        found = ", ".join("%g" % value for value in values[:5]) + (", ..." if len(values) > 5 else "")
        counted = "%s was found %d times in %s: %s" % (looked_for, len(values), place, found)
        raise MetricError("metric '%s': %s; set `reduce` to combine them" % (name, counted))
    try:
        value = REDUCTIONS[spec["reduce"] or "first"](values)
    except (OverflowError, ValueError) as error:  # of numbers near the largest that there is
        raise MetricError("metric '%s': `reduce: %s` is impossible: %s" % (name, spec["reduce"], error)) from error
    kept = {"count": len(values), "values": values[:KEPT]}
    return {"value": value, "unit": spec["unit"], "better": better(spec), "reduce": spec["reduce"], **kept}


def described(spec: Spec) -> str:
    """Return what a metric searches for, for a message."""
    if spec["regex"] is not None:
        return "the pattern '%s'" % spec["regex"]
    return "the JSON path '%s'" % spec["json_path"] if spec["json_path"] else "the CSV column '%s'" % spec["csv"]


def better(spec: Spec) -> Optional[str]:
    """Return `higher` or `lower` as the experiment or the unit defines it, or None if neither does."""
    unit: str = spec["unit"]
    given: Optional[str] = spec["better"]
    return given or ("higher" if unit.endswith("/s") else "lower" if unit in TIMES else None)


def found_in(spec: Spec, text: str) -> Iterator[float]:
    """Yield the numbers that a metric finds in a text. Raise MetricError if a value is not a number."""
    if spec["regex"] is not None:
        return _matches(spec["regex"], spec["unit"], text)
    return map(
        _number, _at_path(path_steps(spec["json_path"]), text) if spec["json_path"] else _column(spec["csv"], text)
    )


def compiled(pattern: str) -> "re.Pattern[str]":
    """Return a compiled regular expression.

    Raise ValueError if the pattern is not a regular expression, or does not define which group is the number.
    """
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError("'%s' is not a regular expression: %s" % (pattern, error)) from error
    if "value" not in expression.groupindex and expression.groups != 1:
        raise ValueError("'%s' needs a group for the number, as in (?P<value>[0-9.]+)" % pattern)
    return expression


def path_steps(path: str) -> List[Step]:
    """Return the steps of a JSON path: `runs[0].rate`, `$.runs[*].rate`, `["a.b"]`.

    Raise ValueError if the text is not such a path.
    """
    rest = path[1:] if path.startswith("$") else path
    steps: List[Step] = []
    while rest:
        part = _PART.match(rest)
        if part is None or (rest.startswith(".") and not steps and not path.startswith("$")):
            raise ValueError("'%s' is not a path such as runs[0].rate or runs[*].rate" % path)
        key, index = part.group("key"), part.group("index")
        if index is None:
            steps.append(key or part.group("quoted"))
        else:
            steps.append(None if index == "*" else int(index))
        rest = rest[part.end() :]
    return steps


def _matches(pattern: str, unit: str, text: str) -> Iterator[float]:
    try:
        expression = compiled(pattern)
    except ValueError as error:  # the Python on the node may be older than the one that planned the sweep
        raise MetricError(str(error)) from error
    group: Union[str, int] = "value" if "value" in expression.groupindex else 1
    for match in expression.finditer(text):
        factor = _factor(match.group("unit"), unit) if "unit" in expression.groupindex else 1.0
        yield _number(match.group(group)) * factor


def _factor(found: Optional[str], unit: str) -> float:
    """Return the factor from the unit that was found to the unit of the metric. Only units of time are converted."""
    if found not in TIMES:
        raise MetricError("'%s' is not a unit of time: %s" % (found, ", ".join(TIMES)))
    return TIMES[found] / TIMES[unit]


def _at_path(steps: List[Step], text: str) -> Iterator[Any]:
    for document in _documents(text):
        for found in _followed(document, steps):
            yield found


def _documents(text: str) -> List[Any]:
    """Return the text as one JSON document, otherwise each of its lines that is an object or a list (JSON Lines)."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        pass
    documents = []
    for line in text.splitlines():
        if line.lstrip()[:1] in ("{", "["):
            try:
                documents.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                if _CUT_OBJECT.match(line):
                    raise MetricError("a line begins with an object, but is not JSON: %.100s" % line.strip()) from error
    return documents


def _followed(value: Any, steps: List[Step]) -> Iterator[Any]:
    """Yield the values at the end of the steps, or none if a step leads nowhere."""
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    inside: List[Any] = []
    if step is None:
        inside = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    elif isinstance(step, str):
        inside = [value[step]] if isinstance(value, dict) and step in value else []
    elif isinstance(value, list) and -len(value) <= step < len(value):
        inside = [value[step]]
    for item in inside:
        for found in _followed(item, rest):
            yield found


def _column(column: str, text: str) -> Iterator[Any]:
    """Yield the cells below a header, down to the end of the text. Skip lines above the header, and empty cells.

    Raise MetricError if a row does not have as many cells as the header.
    """
    lines = text.splitlines(True)
    for number, line in enumerate(lines):
        for delimiter in _DELIMITERS:
            header = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
            if column in header:
                return _cells(column, header, "".join(lines[number + 1 :]), delimiter)
    return iter(())


def _cells(column: str, header: List[str], text: str, delimiter: str) -> Iterator[str]:
    place = header.index(column)
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if not row:
            continue
        if len(row) != len(header):
            shown = _short(delimiter.join(row))
            raise MetricError("a row has %d cells and its header %d: %s" % (len(row), len(header), shown))
        if row[place].strip():
            yield row[place]


def _number(found: Any) -> float:
    """Return a finite number, or a text that is only a number, as float. Raise MetricError otherwise."""
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        text = repr(found)  # a number of JSON may be NaN, or have a thousand digits
    else:
        text = found.strip() if isinstance(found, str) else json.dumps(found)
    value = float(text) if _NUMBER.match(text) else math.nan
    if not math.isfinite(value):
        raise MetricError("%s is not a number" % _short(text))
    return value


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")
