"""Find numbers, with their units, by a regular expression."""

import re
from typing import Iterator, NamedTuple, Optional, Union

from .error import MetricError
from .numbers import check_whole, number
from .syntax import compiled
from .units import converter, inverse, unit_after

_RATIO = re.compile(r"\s*([^\W\d_]+/[^\W\d_]+)")  # after a number: it/s
_PREFIX = re.compile(r"\A[kKMGTP]i?(?=[^\W\d_]+/)")


class Found(NamedTuple):
    """A number, and the unit that follows it if hpcbench did not convert it."""

    value: float
    unit: str = ""


def matches(pattern: str, unit: str, decimal: Optional[str], text: str) -> Iterator[Found]:
    """Yield the number in each match, converted to `unit` if the pattern has a group `unit`.

    Raise MetricError if the group is not a complete number. Without a group `unit`, also raise it if the text has
    numbers in the inverse unit, or if the pattern would match with another prefix of the unit.
    """
    try:
        expression = compiled(pattern)
    except ValueError as error:  # the Python on the node may be older than the one that planned the sweep
        raise MetricError(str(error)) from error
    group: Union[str, int] = "value" if "value" in expression.groupindex else 1
    has_unit = "unit" in expression.groupindex
    checked = set()
    for found in expression.finditer(text):
        check_whole(found, group, decimal)
        value = number(found.group(group), decimal)
        after = _RATIO.match(text, found.end(group))
        if has_unit:
            yield Found(converter(found.group("unit"), unit)(value))
            continue
        if after and after.group(1) not in checked:
            checked.add(after.group(1))
            _check_no_inverse(after.group(1), unit, text)
            _check_no_prefix(after.group(1), unit, pattern, text)
        yield Found(value, unit_after(text, found.end(group)))


def _check_no_inverse(ratio: str, unit: str, text: str) -> None:
    """Raise MetricError if a text also has numbers in the inverse of their unit, as tqdm prints `it/s` and `s/it`."""
    other = inverse(ratio)
    if other and re.search(r"[0-9]\s*%s(?!\w)" % re.escape(other), text):
        hint = _hint("%s|%s" % (re.escape(ratio), re.escape(other)), unit, other if other.endswith("/s") else ratio)
        raise MetricError("the text has numbers in both %s and %s; %s" % (ratio, other, hint))


def _hint(pattern: str, unit: str, other: str) -> str:
    """Return the hint to match units by a pattern; a metric without a unit requires one, for example `other`."""
    more = "" if unit else ", and set `unit: %s` in an experiment file" % other
    return "name the group for the number `value` and capture the unit with (?P<unit>%s)%s" % (pattern, more)


def _check_no_prefix(ratio: str, unit: str, pattern: str, text: str) -> None:
    """Raise MetricError if a pattern would match with another prefix of its unit: tqdm prints `it/s` and `kit/s`."""
    base = _PREFIX.sub("", ratio)
    others = r"(?<![^\W\d_])(?!%s)(?:[kKMGTP]i?)?%s" % (ratio, base)
    try:
        found = ratio in pattern and re.search(pattern.replace(ratio, others), text, re.MULTILINE)
    except re.error:  # the unit is in a set of characters
        return
    if found:
        hint = _hint(r"\w*%s" % base, unit, base)
        raise MetricError("the text has numbers in %s and in other multiples of %s; %s" % (ratio, base, hint))
