"""The conditions of `accept` in an experiment: thresholds of quantities, such as `>= 0.93` or `<= 5 ms`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from hpcbench.config.metrics import Metric
from hpcbench.config.validation.findings import Findings
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.units import converter
from hpcbench.errors import is_misspelt

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_CONDITION = re.compile(
    r"\s*(?P<operator>[<>]=?)\s*(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"\s*(?P<unit>[^\s0-9.,<>=].*?)?\s*"
)
_EQUALITY = re.compile(r"\s*(?:==?|!=)\s*[-+.0-9]")
_EXAMPLE = 'write for example ">= 0.93" or "<= 5 ms"'


@dataclass(frozen=True)
class Condition:
    """A threshold: an operator, a number, and the unit of the number, if one is given."""

    operator: str
    number: float
    unit: str = ""

    @classmethod
    def of(cls, text: str) -> Condition:
        """Return the condition that a text describes. Raise ValueError if the text is not `OPERATOR NUMBER [UNIT]`."""
        found = _CONDITION.fullmatch(text)
        if found is None and _EQUALITY.match(text):
            raise ValueError('measured numbers are seldom equal: write a range, e.g. [">= 0.9", "<= 1.1"]')
        if found is None or not math.isfinite(float(found["number"])):
            raise ValueError(f"expected OPERATOR NUMBER [UNIT]: {_EXAMPLE}")
        return cls(found["operator"], float(found["number"]), found["unit"] or "")

    def __str__(self) -> str:
        return f"{self.operator} {self.number:.12g} {self.unit}".rstrip()

    def threshold(self, unit: str) -> float:
        """Return the number in a unit, the one of the quantity. Raise ValueError for a unit of another quantity.

        Inverse units, such as s/it for it/s, are refused: they would reverse the operator.
        """
        if not self.unit:
            return self.number
        try:
            convert = converter(self.unit, unit)
        except MetricError as error:
            raise ValueError(str(error) if unit else f"write the number without '{self.unit}'") from error
        if not math.isclose(convert(2.0), 2 * convert(1.0)):
            raise ValueError(f"'{self.unit}' is the inverse of '{unit}': write the threshold in {unit}")
        return convert(self.number)

    def holds(self, value: float, threshold: float) -> bool:
        """Return whether a value is on the accepted side of the threshold, which `threshold` has returned."""
        return _OPERATORS[self.operator](value, threshold)


def _listed(given: Any) -> Any:
    """Return one condition as a list."""
    if isinstance(given, int | float):
        raise ValueError(f"the number has no operator: {_EXAMPLE}")
    return [given] if isinstance(given, str) else given


def _checked(texts: list[str]) -> list[str]:
    if not texts:
        raise ValueError(f"the list has no condition: {_EXAMPLE}")
    for text in texts:
        Condition.of(text)
    return texts


Conditions = Annotated[
    list[str],
    BeforeValidator(_listed),
    AfterValidator(_checked),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
]


def check_accept(accept: Mapping[str, Iterable[str]], metrics: Mapping[str, Metric], findings: Findings) -> None:
    """Add an error for each misspelt name of a metric, and each unit that its numbers cannot have.

    Any other name that is not in `metrics` may be known to hpcbench, or be in the output of the runs.
    """
    for name, texts in accept.items():
        path = ("accept", name)
        if name not in metrics and any(is_misspelt(name, known) for known in metrics):
            findings.add(f"unknown metric '{name}'", path, f"use one of: {', '.join(metrics)}")
        for text in texts if name in metrics else ():
            try:
                Condition.of(text).threshold(metrics[name].unit)
            except ValueError as error:
                findings.add(f"'{text}' does not fit '{name}': {error}", path)
