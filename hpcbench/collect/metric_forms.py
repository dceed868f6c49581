"""Forms in which programs print numbers with names: pairs, rates of progress bars, tables, JSON, MLPerf logs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hpcbench.collect.metric_names import identifier, unit_in
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.json_documents import documents
from hpcbench.core.metrics.units import converter, short_unit

Definition = dict[str, Any]  # a metric as in YAML
MOST_NAMES = 2000  # per form
_MOST_LEAVES = 10_000  # of a JSON document
_DEEPEST = 4
_LARGEST = 1e308
_WINDOW = 80  # characters before a separator in which a name is searched
_NO_NAME = str.maketrans(dict.fromkeys(",;:=|[]{}<>\"'!?*#\t", "\n"))  # characters that no name contains
_LONG_LINE, _MANY_BRACES = 2000, 50  # a line with more braces must be JSON: otherwise each may be read to its end
_MOST_WORDS = 4

_PLAIN = r"(?:[0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})(?:[eE][-+]?[0-9]{1,4})?"  # bounded: digits may fill megabytes
_NUMBER = rf"[-+]?(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?|{_PLAIN}|nan\b|inf\b)"
_UNIT = (
    r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)+|[nuµμm]?s|secs?|seconds?|mins?|minutes?|h|hours?|[kKMGT]?i?B|[kMGTPE]?FLOP[Ss]?"
    r"|[kKMGT]?bps|[mkM]?W|[mkM]?J|k?Wh|[kMG]?Hz"
)
_VALUE = re.compile(rf"(?P<sep>[:=])(?P<gap>[ \t]*)(?P<value>{_NUMBER})(?![0-9]|[.,:/-][0-9])")
_NEXT_NAME = r"[ \t]+[\w./-]{1,60}[ \t]*[=:]"  # such as ` train/accuracy=`, which is not a unit
_SCALE = r"[kKMGT] "  # a prefix apart from its unit, such as `k samples/s`
_UNIT_AFTER = re.compile(rf"(?!{_NEXT_NAME})[ \t]?(?P<unit>(?:{_SCALE})?[A-Za-z]+/s(?:ec(?:ond)?)?|{_UNIT})(?![\w/])")
_NO_SCALE = rf"(?!(?!{_NEXT_NAME})[ \t]?[kKMGT](?!\w|/))"  # after a number without unit: `1.2 k` is not 1.2
_UNSCALED = re.compile(_NO_SCALE)
_WORD = r"[A-Za-z_][\w./%+-]*"
_NAME = re.compile(rf"(?P<words>{_WORD}(?: {_WORD})*)(?: ?\((?P<unit>{_UNIT})\))?[ \t]*\Z")
_LONGEST_URL = 500
_OBJECT = 500  # characters of an object as Python prints it, before a setting
_LEVELS = re.compile(r"(?:(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|NOTICE) )+")
_SETTINGS = re.compile(r"[A-Za-z]\w*\(\w+=")  # Namespace(lr=0.1, ...), as Python prints objects
# Words after a prefix, such as `ksamples/s`. The first letter of other words is not a prefix: `keys/s`.
_COUNTED = (
    "(?:it|iters?|samples?|images?|imgs?|tokens?|toks?|steps?|examples?|sequences?|seqs?|items?|frames?|bits?|bytes?)"
)
_RATE = re.compile(
    rf"(?<![\w.,])(?P<value>{_PLAIN}) ?"
    rf"(?:(?:[kKMG](?: |(?={_COUNTED}/)))?(?P<what>it|[A-Za-z]{{3,15}})/s(?:ec(?:ond)?)?"
    r"|[mun]?s/(?P<per>it|[a-z]{3,15}))(?![\w/])"
)
_TABLE = re.compile(rf"│ *(?P<name>{_WORD}) *│ *(?P<value>[-+]?{_PLAIN}) *│")
_COLUMNS = re.compile(rf"^ +(?P<name>{_WORD}) {{2,}}(?P<value>[-+]?{_PLAIN}) *$", re.MULTILINE)
_MLLOG = re.compile(r":::MLL(?:OG)?\b[^{\n]*(?P<entry>\{[^\n]*)")
_FOUND = r"(?P<value>[-+]?[0-9.]*[0-9](?:[eE][-+]?[0-9]+)?|nan|[-+]?inf)"
_GROUPED = r"(?P<value>[-+]?[0-9.,]*[0-9](?:[eE][-+]?[0-9]+)?|nan|[-+]?inf)"


@dataclass
class Candidate:
    """A name in an output, the definitions that may find its numbers, and the numbers."""

    name: str
    definitions: Sequence[Definition]  # the first that finds the last number is valid
    unit: str = ""
    numbers: int = 0
    last: float | None = None
    values: list[float] | None = None  # if the form is read as the metric reads it


@dataclass
class _Pair:
    """A name with numbers after a separator."""

    count: int = 0
    last: str = ""
    grouped: bool = False  # with commas between thousands
    units: list[str | None] = field(default_factory=list)  # distinct, in order; None without unit


def pairs(texts: Sequence[str]) -> Iterator[Candidate]:
    """Yield the names before `: NUMBER UNIT` and `=NUMBER`, and the rates of progress bars without a name."""
    found: dict[tuple[str, str, str], _Pair] = {}
    rates: dict[str, _Pair] = {}
    for text in texts:
        taken = set()
        chunks = text.translate(_NO_NAME)
        for match in _VALUE.finditer(text):
            begin = max(match.start() - _WINDOW, chunks.rfind("\n", 0, match.start()) + 1)
            if _add_pair(found, text, match, begin):
                taken.add(match.start("value"))
        for match in _RATE.finditer(text):
            what = match["what"] or match["per"]
            if match.start("value") in taken:
                rates[what] = _Pair(grouped=True)  # a pattern without a name would find the named numbers, too
            elif len(rates) < MOST_NAMES or what in rates:
                rate = rates.setdefault(what, _Pair())
                rate.count, rate.last = rate.count + 1, match["value"]
    yield from (_of_rate(what, rate) for what, rate in rates.items() if not rate.grouped)
    yield from (_of_pair(*key, pair) for key, pair in found.items())


def _add_pair(found: dict[tuple[str, str, str], _Pair], text: str, match: re.Match[str], begin: int) -> bool:
    """Store a number under its name; return whether it has a name.

    The name is searched from `begin` on. A number that looks like a port, a line number, a setting, a part of a URL or
    the percentage of a progress bar has none.
    """
    named = _NAME.search(text, begin, match.start())
    if named is None or (named.start() == begin and match.start() - begin == _WINDOW):
        return False
    if named.start() and text[named.start() - 1] in "\"'/.0123456789-@":
        return False
    if match["sep"] == ":" and not match["gap"] and not {".", "e"} & set(match["value"]):
        return False
    words = _LEVELS.sub("", named["words"])
    words = words.rpartition(" ")[2] if match["sep"] == "=" else words
    if words.count(" ") >= _MOST_WORDS or _is_setting(text, match.start()) or _is_in_url(text, match.start()):
        return False
    after = _UNIT_AFTER.match(text, match.end())
    if text.startswith("%|", match.end()):
        return False
    if after is None and (text[match.end() : match.end() + 1].isalpha() or not _UNSCALED.match(text, match.end())):
        return False
    key = (words, named["unit"] or "", match["sep"])
    if key not in found and len(found) >= MOST_NAMES:
        return False
    pair = found.setdefault(key, _Pair())
    pair.count, pair.last = pair.count + 1, match["value"]
    pair.grouped |= "," in match["value"]
    unit = after["unit"] if after else None
    if unit in pair.units:
        pair.units.remove(unit)
    pair.units.append(unit)
    return True


def _is_setting(text: str, sep: int) -> bool:
    """Return whether a separator is inside an object as Python prints it, such as `Namespace(lr=0.1, width=3)`."""
    begin = max(0, sep - _OBJECT)
    opened = text.rfind("(", begin, sep)
    return (
        opened >= 0
        and text.find("\n", opened, sep) < 0
        and _SETTINGS.search(text, max(0, opened - 20), sep + 1) is not None
    )


def _is_in_url(text: str, sep: int) -> bool:
    """Return whether a separator is inside a URL, such as `http://host/?page=3`."""
    begin = text.rfind("://", max(0, sep - _LONGEST_URL), sep)
    return begin >= 0 and not any(map(str.isspace, text[begin:sep]))


def _of_pair(words: str, in_parentheses: str, sep: str, pair: _Pair) -> Candidate:
    """Return the candidate of a name. Another name may end with the same words: only the first pattern excludes it."""
    name = identifier(words)
    printed = pair.units[-1] if pair.units and None not in pair.units else None
    unit = short_unit(re.sub(rf"^{_SCALE}", "", printed or in_parentheses)) or unit_in(name)
    named = re.escape(words).replace("\\ ", " ") + (rf" ?\({re.escape(in_parentheses)}\)" if in_parentheses else "")
    value = _GROUPED if pair.grouped else _FOUND
    if printed == "%":
        value += " ?%"
    elif printed:
        value += rf"[ \t]?(?P<unit>(?:{_SCALE})?[A-Za-zµμ/]+)"
    else:
        value += _NO_SCALE
    pattern = rf"(?<![\w./%+-]){named}[ \t]*{sep}[ \t]*{value}"
    patterns = [rf"(?<![A-Za-z] ){pattern}", pattern] if sep == ":" else [pattern]
    more = {"decimal": "."} if pair.grouped else {}
    definitions = [{"regex": each, "unit": unit, "reduce": "last", **more} for each in patterns]
    last = float(pair.last.replace(",", ""))
    return Candidate(name, definitions, unit, pair.count, _converted(last, printed, unit))


def _converted(value: float, printed: str | None, unit: str) -> float | None:
    try:
        return converter(printed, unit)(value) if printed else value
    except MetricError:  # a time per time with a prefix, such as `k s/s`
        return None


def _of_rate(what: str, rate: _Pair) -> Candidate:
    """Return the candidate of rates such as `4.8it/s`, `2.0s/it` and `33ms/step`, converted to a rate per second."""
    unit = rf"(?P<unit>(?:[kKMG] ?)?{what}/s(?:ec(?:ond)?)?|[mun]?s/{what})(?![\w/])"
    definition = {"regex": rf"(?<![\w.,])(?P<value>[0-9.]*[0-9]) ?{unit}", "unit": f"{what}/s", "reduce": "last"}
    return Candidate(identifier(f"{what}/s"), [definition], f"{what}/s", rate.count)


def tables(texts: Sequence[str]) -> Iterator[Candidate]:
    """Yield the rows of the tables of PyTorch Lightning: with lines of box characters, or with blanks."""
    found: dict[str, Candidate] = {}
    for text in texts:
        for match in (*_TABLE.finditer(text), *(_COLUMNS.finditer(text) if "DataLoader 0" in text else ())):
            words = match["name"]
            left = r"│ *" if "│" in match[0] else r"^ +"
            right = r" *│ *" if "│" in match[0] else r" {2,}"
            name = identifier(words)
            if words not in found and len(found) < MOST_NAMES:
                regex = f"{left}{re.escape(words)}{right}{_FOUND}"
                unit = unit_in(name)
                found[words] = Candidate(name, [{"regex": regex, "unit": unit, "reduce": "last"}], unit)
            if words in found:
                found[words].numbers, found[words].last = found[words].numbers + 1, float(match["value"])
    yield from found.values()


def json_values(texts: Sequence[str]) -> Iterator[Candidate]:
    """Yield the numbers in JSON documents, and in dictionaries that Python has printed, by path."""
    found: dict[str, list[float]] = {}
    for text in texts if any("{" in text for text in texts) else ():
        try:
            for document in documents("".join(filter(_is_readable, text.splitlines(keepends=True)))):
                if not (isinstance(document, dict) and {"key", "value", "time_ms"} <= document.keys()):
                    _add_leaves(found, document, "", 0, [_MOST_LEAVES])
        except MetricError:  # a metric would not be found, either
            return
    for path, values in found.items():
        name = identifier(re.sub(r"\[[*]\]|\W", " ", path))
        unit = unit_in(name)
        yield Candidate(name, [{"json": path, "unit": unit, "reduce": "last"}], unit, len(values), values=values)


def _is_readable(line: str) -> bool:
    """Return whether a line can be searched for JSON in a time proportional to its length."""
    if len(line) <= _LONG_LINE or line.count("{") <= _MANY_BRACES:
        return True
    try:
        json.loads(line[line.index("{") :])
    except (ValueError, RecursionError):
        return False
    return True


def _add_leaves(found: dict[str, list[float]], value: Any, path: str, depth: int, room: list[int]) -> None:
    room[0] -= 1
    if depth > _DEEPEST or room[0] < 0:
        return
    if isinstance(value, dict):
        for key, each in value.items():
            step = _step(key, path)
            if step:
                _add_leaves(found, each, path + step, depth + 1, room)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, (dict, list)):
                _add_leaves(found, each, f"{path}[*]", depth + 1, room)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and (path in found or len(found) < MOST_NAMES):
        found.setdefault(path, []).append(float(value) if abs(value) < _LARGEST else math.nan)


def _step(key: Any, path: str) -> str:
    """Return the step of a JSON path to a key; empty if a path cannot have it, or the key names no metric."""
    if not isinstance(key, str) or not key or not key.isascii() or "'" in key:
        return ""
    if re.fullmatch(r"[^.\[\]\"$]+", key):
        return f".{key}" if path else key
    return f"['{key}']"


def mllog_values(texts: Sequence[str]) -> Iterator[Candidate]:
    """Yield the keys of an MLPerf log with numbers, also with numbers inside a value."""
    found: dict[str, list[float]] = {}
    for text in texts if any(":::MLL" in text for text in texts) else ():
        for match in _MLLOG.finditer(text):
            try:
                entry = json.loads(match["entry"])
                key, value = entry["key"], entry["value"]
            except (ValueError, LookupError, TypeError, RecursionError):
                return
            if isinstance(key, str) and re.fullmatch(r"\w+", key):
                _add_leaves(found, value, key, 1, [_MOST_LEAVES])
    for path, values in found.items():
        name = identifier(re.sub(r"\W", " ", path))
        yield Candidate(name, [{"mllog": path, "reduce": "last"}], unit_in(name), len(values), values=values)
