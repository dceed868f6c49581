"""The values of a parameter on the command line: `-P NAME=VALUES`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from hpcbench.config.parameters import NAMES
from hpcbench.config.yaml_document import parse_value
from hpcbench.errors import UserError

_RANGE = re.compile(r"(?P<first>[-+\w.]+?)\.\.(?P<last>[-+\w.]+?)(?::(?P<step>.+))?\Z")
_ONE_END = re.compile(r"[-+\d.]*\d\.\.|\.\.[-+]?\d[\d.]*")
_LOG_STEP = "*10"
_NAME = "use letters, digits and _, with dots between names; no name may begin with a digit"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?P<exponent>[eE][-+]?\d+)?")
_LARGEST, _LARGEST_INTEGER = 1e15, 2**63 - 1  # with an exponent, and without
_LONGEST_INTEGER = 20  # characters
_YAML, _EXPRESSION = {'"': '"', "'": "'", "[": "]", "{": "}"}, "{{"  # first and last characters of YAML

Axis = list[Any] | dict[str, Any]


def axes_of(options: Iterable[str], constants: Collection[str] = ()) -> dict[str, Axis]:
    """Return the values of each parameter of options `NAME=VALUES`.

    Raise UserError for a name that is given twice, or is one of `constants`, which other options set.
    """
    axes: dict[str, Axis] = {}
    for option in options:
        name, axis = axis_of(option)
        if name in axes or name in constants:
            other = f"--{name.replace('_', '-')}" if name in constants else "-P"
            raise UserError(f"'{name}' is also set by {other}", where=f"-P {option}", hint="give it once")
        axes[name] = axis
    return axes


def axis_of(option: str) -> tuple[str, Axis]:
    """Return name and values of an option `NAME=VALUES`.

    VALUES are values with commas between them, or a range A..B, A..B:STEP or A..B:log (each value is 10 times the
    previous one), in which B is included. A value of a program's parameter reaches the program as typed; it is a number
    only if it can be written as one without a change. Values of hpcbench's own parameters, and values in
    quotes or brackets, are YAML. A dotted name, such as Hydra's `optimizer.lr`, becomes `optimizer_lr`. Raise UserError
    if the option is not written like this.
    """
    name, equals, text = option.partition("=")
    where, example = f"-P {option}", "e.g. -P batch_size=32,64 or -P workers=1..8"
    if not equals or not name:
        raise UserError("write -P as NAME=VALUES", where=where, hint=example)
    if not all(part.isidentifier() for part in name.split(".")):
        raise UserError(f"'{name}' is not a valid parameter name", where=where, hint=_NAME)
    name = plain_name(name)
    if found := _RANGE.match(text):
        ends = [parse_value(found[each], where) for each in ("first", "last")]
        if all(isinstance(end, int | float) for end in ends):
            return name, {"range": ends, **_step(found["step"])}
    return name, _values(name, text, where)


def plain_name(name: str) -> str:
    """Return `optimizer_lr` for the dotted name `optimizer.lr` of a program's parameter."""
    return name.replace(".", "_")


def _step(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    step = _LOG_STEP if text == "log" else text
    return {"step": step if step.startswith("*") else parse_value(step, f":{text}")}


def _values(name: str, text: str, where: str) -> list[Any]:
    pieces = [piece.strip() for piece in _split(text)]
    if pieces == [""]:
        raise _no_values(name, where)
    _check(name, pieces, where)
    of_program = name not in NAMES
    as_text = of_program and any(_NUMBER.fullmatch(piece) and isinstance(_number(piece), str) for piece in pieces)
    values: list[Any] = []
    for piece in pieces:
        if piece.startswith(_EXPRESSION):
            values.append(piece)
        elif piece[0] in _YAML or not of_program:
            values.append(_yaml(piece, name, where))
        else:
            values.append(piece if as_text else _number(piece))
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    if not values:
        raise _no_values(name, where)
    return values


def _no_values(name: str, where: str) -> UserError:
    return UserError("the parameter has no values", where=where, hint=f"e.g. -P {name}=1,2")


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas, except commas in an expression, in quotes or in brackets."""
    parts = text.split(",")
    while parts:
        ends = (count for count in range(1, len(parts) + 1) if _is_whole(",".join(parts[:count])))
        count = next(ends, 1)
        yield ",".join(parts[:count])
        del parts[:count]


def _is_whole(text: str) -> bool:
    """Return whether no quote, bracket or expression at the beginning of a text is open."""
    text = text.strip()
    if text.startswith(_EXPRESSION):
        return "}}" in text
    try:
        if text and text[0] in _YAML:
            if not text.endswith(_YAML[text[0]]):  # faster than parsing each beginning of a long list
                return False
            parse_value(text, "")
    except UserError:
        return False
    return True


def _check(name: str, pieces: list[str], where: str) -> None:
    if "" in pieces:
        hint = f"for an empty string, write two quotes: -P '{name}=\"\",...'"
        raise UserError("a value is missing before or after a comma", where=where, hint=hint)
    for piece in pieces:
        if _ONE_END.fullmatch(piece):
            raise UserError(f"'{piece}' is an incomplete range", where=where, hint="write a range as A..B")
        ends = _RANGE.match(piece)
        if ends and all(map(_NUMBER.fullmatch, (ends["first"], ends["last"]))):
            what = f"the range '{piece}' cannot be used with other values"
            raise UserError(what, where=where, hint="list all values")


def _number(piece: str) -> int | float | str:
    """Return a text as a number if the program would get the same text, or the same number without its exponent."""
    found = _NUMBER.fullmatch(piece)
    if found is None:
        return piece
    number = float(piece)
    if found["exponent"]:
        is_out_of_range = math.isinf(number) or (number == 0 and re.search("[1-9]", piece[: found.start("exponent")]))
        is_whole = number.is_integer() and abs(number) < _LARGEST
        return piece if is_out_of_range else int(number) if is_whole else number
    value = number if "." in piece or len(piece) > _LONGEST_INTEGER else int(piece)
    return value if str(value) == piece and abs(value) <= _LARGEST_INTEGER else piece


def _yaml(piece: str, name: str, where: str) -> Any:
    try:
        return parse_value(piece, where)
    except UserError as error:
        hint = f"quote a string that contains special characters: -P '{name}=\"...\"'"
        raise UserError(error.what, where=where, hint=hint) from error
