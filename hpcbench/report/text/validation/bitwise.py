"""Sentences on operators with equal data: whether their results are equal, bit by bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hpcbench.analysis.cases.labels import plain
from hpcbench.analysis.results import Results
from hpcbench.analysis.validation.bitwise import SameData, same_data
from hpcbench.util.text import plural

MAX_NAMED = 5  # operators whose results differ


def bitwise_notes(results: Results) -> Iterator[str]:
    """Yield the number of operators with equal results, and the names of those whose results differ."""
    found = same_data(results.repetitions)
    equal, different = ([each for each in found if each.is_equal is wanted] for wanted in (True, False))
    if equal:
        yield f"Bitwise equal in all runs: {_of(len(equal), found)}{_over(_varied(equal))}."
    if different:
        named = ". ".join(map(_told, different[:MAX_NAMED]))
        more = f". {len(different) - MAX_NAMED:,} more are not listed" if len(different) > MAX_NAMED else ""
        yield f"Not bitwise equal: {_of(len(different), found)}. {named}{more}."


def _of(count: int, found: Sequence[SameData]) -> str:
    return f"{count:,} of {plural(len(found), 'operator')} with the same input data"


def _varied(found: Sequence[SameData]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in found for name in each.varied))


def _over(columns: Sequence[str]) -> str:
    return f"; the runs differ in {', '.join(map(plain, columns))}" if columns else ""


def _told(each: SameData) -> str:
    """Return the name of an operator with what its results depend on, as far as the runs show it."""
    sizes = ", ".join(f"{name}={value}" for name, value in json.loads(each.sizes or "{}").items())
    name = " ".join(filter(None, (each.framework, each.operator, each.phase, f"({sizes})" if sizes else "")))
    how = f"{plural(each.results, 'different result')} in {plural(each.runs, 'run')}"
    if each.explained_by:
        return f"{name}: {how}; the result depends on {' or '.join(map(plain, each.explained_by))}"
    return f"{name}: {how}{_over(each.varied)}"
