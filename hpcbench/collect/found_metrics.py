"""Metrics in the output of commands that the experiment does not define: numbers in common forms, with names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hpcbench.collect.metric_forms import Candidate, Definition, json_values, mllog_values, pairs, tables
from hpcbench.collect.metric_names import is_quality, is_result
from hpcbench.config.metrics import Metric
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.value import Spec, better, value_of

MOST = 30
MOST_SEARCHED = 2**18  # characters: the beginning and the end of longer outputs
_MOST_TRIED = 60


class Printed(NamedTuple):
    """The output of a rank."""

    standard: str
    error: str = ""


@dataclass(frozen=True)
class FoundMetric:
    """A metric that no experiment defines, with the definition that finds it, and its last value."""

    name: str  # an identifier
    definition: Definition  # as in the section `metrics` of an experiment
    count: int  # values in the searched output
    last: float
    unit: str = ""
    better: str | None = None  # higher or lower, if the unit defines it

    @property
    def spec(self) -> Spec:
        """Return the definition as the extraction of metrics takes it."""
        return spec_of(self.definition)


def spec_of(definition: Definition) -> Spec:
    """Return a definition as in YAML with the keys of the extraction of metrics."""
    return Metric.model_validate(definition).model_dump(mode="json")


def found_metrics(*outputs: Printed) -> tuple[FoundMetric, ...]:
    """Return the metrics in the outputs of the ranks of a command, the most informative first, at most MOST.

    Rates come first, then losses, accuracies and the like, then other numbers with a unit, then numbers that occur
    several times. If a name has several forms, the first in this order counts; of equals, the first of JSON, MLPerf
    logs, tables and pairs. Counters, settings and single letters without a unit are left out. A metric whose definition
    does not find its last value again is left out, too. If the outputs are longer than MOST_SEARCHED, only their
    beginnings and ends are searched.
    """
    share = MOST_SEARCHED // max(1, 2 * len(outputs))
    standard = [_ends(output.standard, share) for output in outputs]
    everything = [text for output in outputs for text in (_ends(output.standard, share), _ends(output.error, share))]
    candidates: list[Candidate] = [
        *json_values(standard),
        *mllog_values(standard),
        *tables(everything),
        *pairs(everything),
    ]
    useful = [each for each in candidates if each.name and is_result(each.name) and (each.unit or len(each.name) > 1)]
    found: dict[str, FoundMetric] = {}
    for candidate in sorted(useful, key=_order)[:_MOST_TRIED]:
        if candidate.name not in found and len(found) < MOST:
            metric = _of_values(candidate) if candidate.values is not None else _of_text(candidate, everything)
            if metric:
                found[candidate.name] = metric
    return tuple(found.values())


def _ends(text: str, most: int) -> str:
    """Return whole lines of the beginning and the end of a text that is longer than `most` characters."""
    if len(text) <= most:
        return text
    begin, end = text[: most // 2], text[-(most // 2) :]
    return begin[: begin.rfind("\n") + 1] + end[end.find("\n") + 1 :]


def _order(candidate: Candidate) -> int:
    if "/" in candidate.unit:
        return 0
    if is_quality(candidate.name):
        return 1
    return 2 if candidate.unit else 3 if candidate.numbers > 1 else 4


def _of_values(candidate: Candidate) -> FoundMetric | None:
    values = candidate.values or [math.nan]
    return None if math.isnan(values[-1]) else _found(candidate, 0, len(values), values[-1])


def _of_text(candidate: Candidate, texts: Sequence[str]) -> FoundMetric | None:
    """Return the metric of the first definition that finds the last number of a candidate; None if none does."""
    for place, definition in enumerate(candidate.definitions):
        try:
            made: dict[str, Any] = value_of(spec_of(definition), texts, "the output")
        except (MetricError, ValueError):
            continue
        if candidate.last is None or made["value"] == candidate.last:
            return _found(candidate, place, made["count"], made["value"])
    return None


def _found(candidate: Candidate, place: int, count: int, last: float) -> FoundMetric:
    definition = {key: value for key, value in candidate.definitions[place].items() if value}
    direction = better(spec_of(definition))
    return FoundMetric(candidate.name, definition, count, last, candidate.unit, direction)
