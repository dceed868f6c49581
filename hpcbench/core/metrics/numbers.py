"""Parse numbers as programs print them: with an exponent, a decimal comma, or thousands separators."""

import json
import math
import re
from typing import Any, Match, Optional

from .error import MetricError, short

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_FORTRANS = re.compile(r"(?<=[0-9.])[dD](?=[-+]?[0-9]+\Z)")  # exponent of a double: 1.5D+03
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)\Z", re.IGNORECASE)
_MINUS = "\u2212"  # typographic
_SPACES = "\u00a0\u202f\u2009'"  # thousands separators that are never a decimal mark
_GROUPED = r"[-+]?[0-9]{1,3}(?:%s[0-9]{3})+"
_SPACED = re.compile(_GROUPED % ("[%s]" % _SPACES) + r"(?![0-9])")
_ERROR_BAR = re.compile(r"\s*(?:\u00b1|\+/-|\+-)")
# The rest of a number after, or before, the text that a pattern has matched.
_GOES_ON = re.compile(r"[0-9]|\.[0-9]|[eEdD][-+]?[0-9]|[%s][0-9]{3}(?![0-9])" % _SPACES)
_BEGAN = re.compile(r"(?:[0-9]\.?|[0-9.][eEdD][-+]?|(?<![\w)\].%-])[-\u2212])\Z")
_GOES_ON_AT_COMMA = re.compile(r",[0-9]")
_BEGAN_AT_COMMA = re.compile(r"[0-9],\Z")
_AMID_THOUSANDS = re.compile(r"[0-9][%s][0-9]{3}(?![0-9])" % _SPACES)
_THOUSANDS_GO_ON = re.compile(r",[0-9]{3}(?![0-9])")


def number(found: Any, decimal: Optional[str] = None) -> float:
    """Return a number, or a text that is only a number, as float; NaN for one that is not finite.

    `decimal` is the decimal mark, `.` or `,`; the other character is then the thousands separator. If it is None,
    `3,14` and `1,234.5` are numbers, and `1,234` is ambiguous. Raise MetricError for anything that is not a number.
    """
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        text = repr(found)  # a number of JSON may be NaN, or have a thousand digits
    else:
        text = found.strip() if isinstance(found, str) else json.dumps(found)
    plain = _ERROR_BAR.split(text, 1)[0].replace(_MINUS, "-").strip()
    if _SPACED.match(plain):
        plain = re.sub("[%s]" % _SPACES, "", plain)
    plain = _FORTRANS.sub("e", _with_point(plain, decimal))
    if plain.endswith(".") and plain.count(".") > 1:  # the end of a sentence
        plain = plain[:-1]
    if _NUMBER.match(plain):
        value = float(plain)
        return value if math.isfinite(value) else math.nan
    if _NOT_FINITE.match(plain):
        return math.nan
    raise MetricError("%s is not a number" % short(text))


def _with_point(text: str, decimal: Optional[str]) -> str:
    """Return a number with a decimal point, and without thousands separators."""
    if "," not in text and decimal != ",":
        return text
    comma, point = text.rfind(","), text.rfind(".")
    if decimal is None:
        if comma >= 0 <= point or text.count(",") > 1:
            decimal = "," if comma > point >= 0 else "."
        elif re.match(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}\Z", text):
            hint = 'set `decimal: ","` or `decimal: "."`'
            raise MetricError("%s may have a decimal comma or a thousands separator: %s" % (short(text), hint))
        else:
            decimal = ","
    thousands = "." if decimal == "," else ","
    grouped = re.match(_GROUPED % re.escape(thousands) + r"(?![0-9%s])" % re.escape(thousands), text)
    if grouped:
        text = grouped.group().replace(thousands, "") + text[grouped.end() :]
    return text.replace(",", ".") if decimal == "," and thousands not in text else text


def check_whole(found: Match[str], group: Any, decimal: Optional[str]) -> None:
    """Raise MetricError if a group matched only part of a number: `3` of `3,14`, `1` of `1e-3`, `4` of `123.4`."""
    start, end = found.span(group)
    text = found.string
    if start < 0 or not any(map(str.isdigit, found.group(group))):
        return
    before, after = text[max(0, start - 4) : start], text[end : end + 5]
    begins = text[start] in "0123456789."
    cut = _GOES_ON.match(after) or (begins and _BEGAN.search(before))
    cut = cut or (start > 1 and _AMID_THOUSANDS.match(text, start - 2))
    hint = "extend the pattern"
    if not cut and decimal == ".":
        cut = _THOUSANDS_GO_ON.match(after)
    elif not cut:
        cut = _GOES_ON_AT_COMMA.match(after) or (begins and _BEGAN_AT_COMMA.search(before))
        hint += ', or set `decimal: "."` if the comma is not part of the number'
    if cut:
        around = short(text[max(0, start - 12) : end + 12].replace("\n", " "))
        raise MetricError("%s is only part of the number in %s: %s" % (short(found.group(group)), around, hint))
