"""Sizes in an exported graph: numbers, or expressions of symbols.

PyTorch writes expressions as sympy.srepr does: `Mul(Integer(196), Symbol('s77', positive=True))`, and before version
2.6 as `196*s77`. They are parsed, never evaluated as Python.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

_LONGEST = 10_000  # characters of an expression
_MOST_BITS = 63
_LARGEST_POWER = 8
Symbols = Mapping[str, int]


class TooLargeError(ValueError):
    """A size, or a number of elements, is too large for the predictor."""


class UnknownSizeError(ValueError):
    """The value of a symbol is unknown."""


def size(data: Any, symbols: Symbols) -> int:
    """Return a size: `{"as_int": 3}`, or `{"as_expr": {"expr_str": ...}}` with the values of its symbols.

    Raise UnknownSizeError for an unknown symbol, and KeyError, ValueError or TypeError if it is not a size.
    """
    if "as_int" in data:
        return int(data["as_int"])
    return evaluated(data["as_expr"]["expr_str"], symbols)


def symbol_of(data: Any) -> str | None:
    """Return the symbol of a size that is a single one; None for numbers and other expressions."""
    if "as_expr" not in data:
        return None
    node = _parsed(data["as_expr"]["expr_str"])
    if isinstance(node, ast.Name):
        return node.id
    is_symbol = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Symbol"
    return _text(node.args[0]) if is_symbol and isinstance(node, ast.Call) else None


def hint_of(data: Any) -> int | None:
    """Return the value that a size had when the program was exported; None if it is not stored."""
    found = ((data.get("as_expr") or {}).get("hint") or {}).get("as_int")
    return None if found is None else int(found)


def evaluated(text: str, symbols: Symbols) -> int:
    """Return the value of an expression, with the errors of `size`."""
    number = _number(_parsed(text), symbols)
    if number.denominator != 1:
        raise ValueError(f"'{text[:80]}' is not a size")
    if number.numerator.bit_length() > _MOST_BITS:
        raise TooLargeError(f"a size exceeds {_MOST_BITS} bits")
    return number.numerator


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise ValueError("an expression is too long")
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{text[:80]}' is not an expression") from error


def _number(node: ast.expr, symbols: Symbols) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Fraction(node.value)
    if isinstance(node, ast.Name):
        return _value(node.id, symbols)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand, symbols)
    if isinstance(node, ast.BinOp):
        return _called(type(node.op).__name__, [_number(each, symbols) for each in (node.left, node.right)])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id == "Symbol":
            return _value(_text(node.args[0]), symbols)
        return _called(node.func.id, [_number(each, symbols) for each in node.args])
    raise ValueError(f"unknown expression {type(node).__name__}")


def _value(symbol: str, symbols: Symbols) -> Fraction:
    if symbol not in symbols:
        raise UnknownSizeError(symbol)
    return Fraction(symbols[symbol])


def _called(name: str, values: list[Fraction]) -> Fraction:
    function = _FUNCTIONS.get(name)
    if function is None:
        raise ValueError(f"unknown function '{name}'")
    try:
        found = function(*values)
    except ZeroDivisionError as error:
        raise ValueError("a division by zero") from error
    if max(found.numerator.bit_length(), found.denominator.bit_length()) > 2 * _MOST_BITS:
        raise TooLargeError(f"a size exceeds {_MOST_BITS} bits")
    return found


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a symbol has no name")


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or abs(exponent) > _LARGEST_POWER:
        raise ValueError("a power is not a small whole number")
    return Fraction(base**exponent.numerator)


def _floor(one: Fraction, other: Fraction) -> Fraction:
    return Fraction(one // other)


def _identity(value: Fraction) -> Fraction:
    return value


_FUNCTIONS: Mapping[str, Callable[..., Fraction]] = {
    "Add": lambda *values: sum(values, Fraction(0)),
    "Mul": lambda *values: math.prod(values, start=Fraction(1)),
    "Mult": lambda one, other: one * other,
    "Sub": lambda one, other: one - other,
    "Div": lambda one, other: one / other,
    "IntTrueDiv": lambda one, other: one / other,
    "Rational": lambda one, other: one / other,
    "Pow": _power,
    **dict.fromkeys(("FloorDiv", "CleanDiv", "FloorToIntDiv"), _floor),
    "CeilDiv": lambda one, other: Fraction(-(-one // other)),
    **dict.fromkeys(("Mod", "PythonMod"), lambda one, other: one % other),
    "ModularIndexing": lambda one, other, modulus: (one // other) % modulus,
    "Max": lambda *values: max(values),
    "Min": lambda *values: min(values),
    **dict.fromkeys(("Integer", "Identity", "ToFloat", "Float"), _identity),
    **dict.fromkeys(("floor", "FloorToInt", "TruncToInt"), lambda value: Fraction(math.floor(value))),
    **dict.fromkeys(("ceiling", "CeilToInt"), lambda value: Fraction(math.ceil(value))),
}
