"""Find values by a path in JSON documents within other output: JSON Lines, indented objects, log lines that end with
an object, MLPerf's `:::MLLOG` lines, and dictionaries as Python prints them."""

import ast
import json
import re
from typing import Any, Iterator, List, Optional, Tuple

from .error import MetricError
from .syntax import Step, path_steps

_OBJECT = re.compile(r'\{\s*"')
_OBJECT_ON_LINE = re.compile(r'\{[ \t]*"')
_OPENING = re.compile(r"^[ \t]*[\[{]|\{(?=\s*[\"'}])", re.MULTILINE)  # begins a line, or is an object inside one
_PYTHON = re.compile(r"\{\s*'.*\}", re.MULTILINE)  # a dictionary on one line
_NO_LITERAL = re.compile(r"(?<=[:\[,(] )(-?(?:nan|inf))\b")  # repr of a float that Python cannot parse
_LONGEST = 100_000  # characters of an object on one line
_MLLOG = re.compile(r"^.*?:::MLL(?:OG)?\b[^{\n]*(?=\{)", re.MULTILINE)
_DECODER = json.JSONDecoder()


class _Text(str):
    """A text in which the decoder does not count the lines before each error: for a long log, that takes hours."""

    def count(self, *_: Any) -> int:
        return 0


def at_path(path: str, text: str) -> Iterator[Any]:
    """Yield the values at a path in each document. Raise MetricError for a truncated object."""
    steps = path_steps(path)
    for document in documents(text):
        for found in _followed(document, steps):
            yield found


def of_mllog(path: str, text: str) -> Iterator[Any]:
    """Yield the values of a key in an MLPerf log, such as `eval_accuracy`, or those at a path that begins with it."""
    key, *steps = path_steps(path)
    text = _Text(text)
    for line in _MLLOG.finditer(text):
        entry = _decoded(text, line.end())
        if entry is None:
            raise MetricError("a line of the MLPerf log is not JSON: %.100s" % text[line.end() :].splitlines()[0])
        if isinstance(entry[0], dict) and entry[0].get("key") == key and entry[0].get("value") is not None:
            for found in _followed(entry[0]["value"], steps):
                yield found


def documents(text: str) -> Iterator[Any]:
    """Yield the text as one JSON document, otherwise each object or list that begins a line, or object inside a line.

    Raise MetricError for a truncated object.
    """
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError):
        pass
    text = _Text(text)
    opening = _OPENING.search(text)
    while opening is not None:
        start = opening.end() - 1
        found = _decoded(text, start) or _of_python(text, start)
        if found is not None:
            yield found[0]
        elif _is_cut_off(text, start):
            shown = text[start : start + 100].split("\n")[0]
            raise MetricError("a JSON object is truncated or invalid: %s" % shown)
        opening = _OPENING.search(text, found[1] if found else start + 1)


def _is_cut_off(text: str, start: int) -> bool:
    """Return whether a text that is not JSON begins a line like an object, or inside a line is JSON up to its end."""
    if not text[text.rfind("\n", 0, start) + 1 : start].strip():
        return _OBJECT.match(text, start) is not None
    line = text[start : start + _LONGEST].partition("\n")[0]
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return _OBJECT_ON_LINE.match(line) is not None and (
            error.pos >= len(line) or error.msg.startswith("Unterminated string")
        )
    except RecursionError:
        pass
    return False


def _decoded(text: str, start: int) -> Optional[Tuple[Any, int]]:
    """Return the JSON document that begins at `start`, and its end, or None if no document begins there."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _of_python(text: str, start: int) -> Optional[Tuple[Any, int]]:
    """Return the dictionary that Python printed at `start`, as the Hugging Face Trainer does, and its end, or None."""
    found = _PYTHON.match(text, start, start + _LONGEST)
    if found is None:
        return None
    try:
        return ast.literal_eval(_NO_LITERAL.sub(r"'\1'", found.group())), found.end()
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _followed(value: Any, steps: List[Step]) -> Iterator[Any]:
    """Yield the values at the end of the steps, or none if a step has no value."""
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
