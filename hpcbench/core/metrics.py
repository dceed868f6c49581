"""A metric of a command: found as numbers in its output or in a file, and reduced to one.

Three ways to find numbers in a text:

- `regex`: what the group `value` (or the only group) of each match holds; `^` and `$` match at each line. Where a
  program prints a time in the unit that fits, the group `unit` holds that one, and the metric's own is what it becomes.
- `json`: a path such as `runs[0].rate`. The text is one JSON document, or else holds some on lines of their own.
- `csv`: a column by the name in its header, comma, semicolon or tab between the cells.
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
# In nanoseconds. Less of a time is better; of a rate, as in it/s, more is.
TIMES = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "min": 6 * 10**10}
TIMES["h"] = 60 * TIMES["min"]

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_PART = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>-?[0-9]+|\*)\]|\[(?P<quote>['\"])(?P<quoted>.*?)(?P=quote)\]")
_CUT_OBJECT = re.compile(r'\s*\{\s*"')  # no dictionary of Python, which uses other quotes
_DELIMITERS = ",;\t"
_SHOWN = 60  # characters of what was found, in a message
KEPT = 1000  # values that a record holds; a long training logs more

Spec = Dict[str, Any]  # one metric of the experiment file, by the names of config/metrics.py
Step = Union[str, int, None]  # of a JSON path: a key, an index, or None for every element


class MetricError(Exception):
    """A metric has no value; the message says what was looked for and what was found."""


def value_of(name: str, spec: Spec, texts: Iterable[str], place: str) -> Dict[str, Any]:
    """The metric as a record holds it, from all the texts that `place` names. Raises MetricError."""
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
        raise MetricError("metric '%s': %s; say with `reduce` what to make of them" % (name, counted))
    value = REDUCTIONS[spec["reduce"] or "first"](values)
    kept = {"count": len(values), "values": values[:KEPT]}
    return {"value": value, "unit": spec["unit"], "better": better(spec), "reduce": spec["reduce"], **kept}


def described(spec: Spec) -> str:
    """What a metric looks for, in words."""
    if spec["regex"] is not None:
        return "the pattern '%s'" % spec["regex"]
    return "the JSON path '%s'" % spec["json_path"] if spec["json_path"] else "the CSV column '%s'" % spec["csv"]


def better(spec: Spec) -> Optional[str]:
    """`higher` or `lower`: what the experiment says, else what the unit says; None where neither does."""
    unit: str = spec["unit"]
    given: Optional[str] = spec["better"]
    return given or ("higher" if unit.endswith("/s") else "lower" if unit in TIMES else None)


def found_in(spec: Spec, text: str) -> Iterator[float]:
    """The numbers where the metric is looked for. Raises MetricError for what is none."""
    if spec["regex"] is not None:
        return _matches(spec["regex"], spec["unit"], text)
    return map(
        _number, _at_path(path_steps(spec["json_path"]), text) if spec["json_path"] else _column(spec["csv"], text)
    )


def compiled(pattern: str) -> "re.Pattern[str]":
    """Raises ValueError for what is no regular expression, and for one that does not say which part is the number."""
    try:
        expression = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise ValueError("'%s' is not a regular expression: %s" % (pattern, error)) from error
    if "value" not in expression.groupindex and expression.groups != 1:
        raise ValueError("'%s' needs a group for the number, as in (?P<value>[0-9.]+)" % pattern)
    return expression


def path_steps(path: str) -> List[Step]:
    """The steps of `runs[0].rate`, `$.runs[*].rate`, `["a.b"]`. Raises ValueError for what is no such path."""
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
    except ValueError as error:  # what the planner's Python knows, an older one on the node may not
        raise MetricError(str(error)) from error
    group: Union[str, int] = "value" if "value" in expression.groupindex else 1
    for match in expression.finditer(text):
        factor = _factor(match.group("unit"), unit) if "unit" in expression.groupindex else 1.0
        yield _number(match.group(group)) * factor


def _factor(found: Optional[str], unit: str) -> float:
    """From the unit that was found to the metric's own. The units of a program are not translated but for times."""
    if found not in TIMES:
        raise MetricError("'%s' is not a unit of time: %s" % (found, ", ".join(TIMES)))
    return TIMES[found] / TIMES[unit]


def _at_path(steps: List[Step], text: str) -> Iterator[Any]:
    for document in _documents(text):
        for found in _followed(document, steps):
            yield found


def _documents(text: str) -> List[Any]:
    """The text as one document; else each of its lines that is an object or a list, as in JSON Lines."""
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
                    raise MetricError("a line begins with an object and is no JSON: %.100s" % line.strip()) from error
    return documents


def _followed(value: Any, steps: List[Step]) -> Iterator[Any]:
    """What lies at the end of the steps; nothing where one of them leads nowhere."""
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
    """The cells under a header, down to the end of the text. Lines above the header, and empty cells, are passed over.

    Raises MetricError for a row that does not have the header's number of cells.
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
    """A finite number, or a text that is nothing else. Raises MetricError."""
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
