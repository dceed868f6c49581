"""An axis of the matrix: a list of values, or a range."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Context, Decimal
from enum import Enum
from typing import Any

from pydantic import Field, model_validator

from hpcbench.config.yaml_document import Model

MAX_AXIS_VALUES = 100_000
_DECIMAL = Context(prec=120)  # more digits than an integer of a YAML file may have
_NEARLY = Decimal("1e-9")


class Unset(Enum):
    """The value of an axis in a point that does not set its parameter. In JSON, it is null."""

    UNSET = None


UNSET = Unset.UNSET


class Range(Model):
    """A range such as `{range: [1, 8]}` or `{range: [1, 64], step: "*2"}`. It includes both of its ends."""

    range: tuple[int | float, int | float] = Field(strict=False, description="first and last value, both included")
    step: int | float | str = Field(default=1, description='increment, or a factor, e.g. "*2"')

    @model_validator(mode="after")
    def _finite(self) -> Range:
        self.values()
        return self

    def values(self) -> list[int | float]:
        """Return the numbers of the range. Raise ValueError for invalid ends, or a step that does not reach the end."""
        first, last = self.range
        factor = self._factor()
        step = None if factor else _number(self.step)
        if not all(map(math.isfinite, (first, last, factor or 1, step or 1))):
            raise ValueError("a range and its step must be finite numbers")
        if first > last:
            raise ValueError(f"the range starts at {first}, above its end {last}")
        if step is not None and step <= 0:
            raise ValueError(f"the step {self.step} never reaches the end")
        if factor is not None and (factor <= 1 or first <= 0):
            raise ValueError(f"multiplying {first} by {factor} never reaches the end")
        values = [first]
        for value in self._rising(first, last, factor, step):
            if not value > values[-1]:
                raise ValueError(f"the step {self.step} is too small for numbers such as {values[-1]}")
            values.append(value)
            if len(values) > MAX_AXIS_VALUES:
                raise ValueError(f"the range has more than {MAX_AXIS_VALUES:,} values")
        return values

    @staticmethod
    def _rising(
        first: int | float, last: int | float, factor: int | float | None, step: int | float | None
    ) -> Iterator[int | float]:
        """Yield the numbers after the first, computed in decimal: 0.3 instead of 0.30000000000000004.

        A number within 1e-9 steps of the end becomes the end: three steps of 0.3333333333 end at 1.
        """
        end, value = Decimal(str(last)), Decimal(str(first))
        grown = Decimal(str(step if factor is None else factor))
        whole = all(isinstance(each, int) for each in (first, factor, step) if each is not None)
        if first == last:
            return
        while True:
            before, value = value, _DECIMAL.add(value, grown) if factor is None else _DECIMAL.multiply(value, grown)
            missing = _DECIMAL.subtract(end, value)
            if missing <= _DECIMAL.multiply(_NEARLY, _DECIMAL.subtract(value, before)):
                break
            yield int(value) if whole else float(value)
        yield last

    def _factor(self) -> int | float | None:
        if isinstance(self.step, str) and self.step.startswith("*"):
            return _number(self.step[1:])
        return None


def _number(text: int | float | str) -> int | float:
    if not isinstance(text, str):
        return text
    try:
        return int(text) if re.fullmatch(r"\s*[-+]?\d+\s*", text) else float(text)
    except ValueError:
        raise ValueError(f'the step {text!r} must be a number, or "*" and a number') from None


Axis = list[Any] | Range
Axes = dict[str, Axis]


def axis_values(axis: Axis) -> list[Any]:
    """Return the values of an axis, which is a list or a range."""
    return list(axis.values()) if isinstance(axis, Range) else axis
