"""Sandboxed expressions over parameters, such as `"{{ nodes * 4 }}"`, in which undefined names are errors.

Text that is a single expression has the type of its value; expressions within longer text become text.

Time and memory are bounded: there are no loops, and expressions, their operands and results of filters are limited to
MAX_SIZE.
"""

from __future__ import annotations

import functools
import math
import shlex
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.environment import TemplateExpression
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hpcbench.errors import nearest

MAX_SIZE = 10_000  # characters and values
MAX_BITS = 63


def _round(number: float, digits: int = 0) -> int | float:
    """Return `round(number, digits)`, with at most 15 digits since Python would compute 10 ** digits."""
    if abs(digits) > 15:
        raise ValueError("numbers can be rounded to at most 15 digits")
    return round(number, digits) if digits else round(number)


def _quote(value: object) -> str:
    """Return a value as one quoted word of a shell."""
    return shlex.quote(str(value))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (min, max, abs, int, float, len)},
    "round": _round,
}

# Names that mean something else in an expression, so that no parameter can have them.
RESERVED = frozenset(
    {
        *_FUNCTIONS,
        *("and", "else", "if", "in", "is", "not", "or", "self"),
        *("true", "True", "false", "False", "none", "None"),
    }
)


def _small(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter with results of limited size, since chains of filters could grow without limit."""

    @functools.wraps(function)
    def filtered(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        if _is_large(result):
            raise jinja2.TemplateRuntimeError("the value of a filter is too large")
        return result

    return filtered


_FILTERS = ("abs", "int", "float", "min", "max", "length", "lower", "upper", "string")


class _Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox without the operators that can make huge results from short text."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def is_safe_callable(self, obj: Any) -> bool:
        return any(obj is function for function in _FUNCTIONS.values())

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and (abs(right) > 64 or abs(left) > 10**6):
            raise jinja2.TemplateRuntimeError("the power is too large")
        if operator == "*" and (isinstance(left, str | list | tuple) or isinstance(right, str | list | tuple)):
            raise jinja2.TemplateRuntimeError("only numbers can be multiplied")
        if operator == "%" and isinstance(left, str):
            raise jinja2.TemplateRuntimeError("% is the remainder of numbers; join text with ~")
        return super().call_binop(context, operator, left, right)


def _environment() -> _Sandbox:
    sandbox = _Sandbox(undefined=jinja2.StrictUndefined, autoescape=False)
    sandbox.globals = dict(_FUNCTIONS)
    filters = {name: sandbox.filters[name] for name in _FILTERS} | {"round": _round, "quote": _quote}
    sandbox.filters = {name: _small(function) for name, function in filters.items()}
    return sandbox


_SANDBOX = _environment()


class ExpressionError(Exception):
    """An expression cannot be evaluated. `where` is the parameter or key that contains it; the caller adds the file."""

    def __init__(self, what: str, where: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint


@lru_cache(maxsize=4096)
def _compiled(text: str) -> tuple[Callable[..., Any], frozenset[str]]:
    """Return the compiled function of the parameters in `text`, and the names of these parameters."""
    syntax = _SANDBOX.parse(text.strip())
    if not all(isinstance(part, nodes.Output) for part in syntax.body):
        raise jinja2.TemplateSyntaxError("only expressions are allowed, not statements", 1)
    names = frozenset(meta.find_undeclared_variables(syntax) - set(_SANDBOX.globals))
    parts = [node for part in syntax.body for node in part.nodes]  # type: ignore[attr-defined]
    if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
        # As jinja2's compile_expression, which requires the text between the braces.
        body = [nodes.Assign(nodes.Name("result", "store"), parts[0], lineno=1)]
        template = _SANDBOX.from_string(nodes.Template(body, lineno=1))
        return TemplateExpression(template, undefined_to_none=False), names
    return _SANDBOX.from_string(text).render, names


@lru_cache(maxsize=4096)
def _once(text: str, *values: tuple[str, type, Any]) -> Any:
    """Return the value of `text`; types are part of the cache key, since 1 == True."""
    return _compiled(text)[0]({name: value for name, _, value in values})


class LiteralText(str):
    """Text that is never an expression, whatever it contains: data of a file."""

    __slots__ = ()


def is_expression(value: Any) -> bool:
    """Return whether `value` is or contains an expression."""
    if isinstance(value, LiteralText):
        return False
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, Mapping):
        return any(is_expression(item) for item in value.values())
    return isinstance(value, list) and any(is_expression(item) for item in value)


def names_in(value: Any) -> frozenset[str]:
    """Return the names of the parameters in the expressions of a value; none of text that is not valid."""
    if isinstance(value, list):
        return frozenset().union(*map(names_in, value))
    if not isinstance(value, str) or not is_expression(value) or len(value) > MAX_SIZE:
        return frozenset()
    try:
        return _compiled(value)[1]
    except (jinja2.TemplateSyntaxError, RecursionError, MemoryError, SyntaxError):
        return frozenset()  # evaluating the value names the error


class Resolver:
    """Evaluates the expressions of one point, each parameter once, in the order of their dependencies."""

    def __init__(self, values: Mapping[str, Any], completed: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        """Create a resolver of `values`; `completed` adds the defaults to parameters that are mappings."""
        self._given = values
        self._completed = completed or {}
        self._done: dict[str, Any] = {}
        self._open: list[str] = []

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter. Raise ExpressionError for a cycle, an unknown name or a failing
        expression."""
        if name in self._done:
            return self._done[name]
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise ExpressionError(f"the expressions are circular: {circle}", name)
        if name not in self._given:
            raise ExpressionError(f"the parameter '{name}' has no value", name)
        self._open.append(name)
        try:
            value = self.value(self._given[name], name)
            self._done[name] = self._completed[name](value) if name in self._completed else value
        finally:
            self._open.pop()
        return self._done[name]

    def seen_by(self, name: str) -> set[str]:
        """Return the parameters that the value of `name` depends on, directly or through other expressions."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            value = self._given.get(waiting.pop())
            if isinstance(value, str) and is_expression(value):
                names = _compiled(value)[1] - seen
                seen |= names
                waiting += names
        return seen

    def value(self, value: Any, where: str) -> Any:
        """Return `value` with all expressions in it evaluated. Raise ExpressionError, located at `where`."""
        if isinstance(value, str) and is_expression(value):
            return self._evaluate(value, where)
        if isinstance(value, dict):
            return {key: self.value(item, f"{where}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, f"{where}[{index}]") for index, item in enumerate(value)]
        return value

    def _evaluate(self, text: str, where: str) -> Any:
        if len(text) > MAX_SIZE:
            raise ExpressionError(f"{_short(text)} is too long", where)
        try:
            function, names = _compiled(text)
        except jinja2.TemplateSyntaxError as error:
            raise ExpressionError(f"{_short(text)} is not an expression: {error.message}", where) from error
        except (RecursionError, MemoryError, SyntaxError) as error:
            raise ExpressionError(f"{_short(text)} is too long", where) from error
        for name in sorted(names):
            if name not in self._given:
                raise ExpressionError(f"'{name}' is not defined in {_short(text)}", where, nearest(name, self._given))
        values = {name: self.parameter(name) for name in names}
        for name, value in values.items():
            if _is_large(value):
                raise ExpressionError(f"'{name}' is too large to be used in {_short(text)}", where)
        try:
            if all(isinstance(value, str | int | float | None) for value in values.values()):
                result = _once(text, *((name, type(value), value) for name, value in values.items()))
            else:
                result = function(values)
        except Exception as error:  # user expressions can raise any exception, e.g. ZeroDivisionError
            unset = [name for name in sorted(names) if values[name] is None] if isinstance(error, TypeError) else []
            hint = f"'{unset[0]}' is unset, i.e. none: write e.g. ({unset[0]} or 1)" if unset else ""
            raise ExpressionError(f"{_short(text)} cannot be evaluated: {error}", where, hint) from error
        return _bounded(result, text, where)


def _bounded(result: Any, text: str, where: str) -> Any:
    """Return `result`. Raise ExpressionError if JSON or a job script cannot contain it."""
    if isinstance(result, jinja2.Undefined) or not isinstance(result, bool | int | float | str | list | dict | None):
        raise ExpressionError(f"{_short(text)} is not a plain value", where)
    if isinstance(result, float) and not math.isfinite(result):
        raise ExpressionError(f"the value of {_short(text)} is {result}", where)
    if _is_large(result) or (isinstance(result, int) and result.bit_length() > MAX_BITS):
        raise ExpressionError(f"the value of {_short(text)} is too large", where)
    return result


def _is_large(value: Any) -> bool:
    """Return whether a value has more than MAX_SIZE characters and nested values."""
    if not isinstance(value, list | dict | tuple):
        return isinstance(value, str) and len(value) > MAX_SIZE
    size, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        size += len(item) if isinstance(item, str) else 1
        if size + len(waiting) > MAX_SIZE:
            return True
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
    return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
