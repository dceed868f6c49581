"""The divergence of trainings as columns of text, for terminal and page, and as rows for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from hpcbench.analysis.results import Results
from hpcbench.analysis.training.divergence import Divergence, Recorded
from hpcbench.report.text.text_columns import NEVER, Column
from hpcbench.util.text import plural

TITLE = "Divergence of trainings"
RULE = (
    "Differences of the weights and losses of two trainings from equal weights and batches. Rounding weights to "
    "float32 explains a relative L2 norm of at most 2 k 2^-24 after k steps."
)


def names_of(results: Results, pair: Divergence) -> tuple[str, str]:
    """Return the labels of both trainings of a pair, with their runs if they are of the same case."""
    first, second = _label(results, pair.first), _label(results, pair.second)
    is_repeated = (pair.first.sweep, pair.first.case) == (pair.second.sweep, pair.second.case)
    return (f"{first} (run {pair.first.run})", f"run {pair.second.run}") if is_repeated else (first, second)


def divergence_columns(results: Results, pairs: Sequence[Divergence]) -> list[Column]:
    """Return the columns of a table with a row per pair."""
    names = [names_of(results, pair) for pair in pairs]
    ends = [_end(pair) for pair in pairs]
    columns = [
        Column("training", tuple(first for first, _ in names), is_text=True),
        Column("compared with", tuple(second for _, second in names), is_text=True),
        Column("steps", tuple(end[0] for end in ends)),
        Column("relative L2", tuple(end[1] for end in ends)),
        Column("largest difference", tuple(end[2] for end in ends), 2),
        Column("difference of losses", tuple(end[3] for end in ends), 1),
        Column("first step above rounding", tuple(end[4] for end in ends)),
    ]
    remarks = tuple(map(_remark, pairs))
    return [*columns, *([Column("remark", remarks, NEVER, is_text=True)] if any(remarks) else [])]


def divergence_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Yield each pair for JSON."""
    for pair in results.divergences:
        yield {
            **{f"first_{name}": getattr(pair.first, name) for name in ("sweep", "case", "run")},
            **{f"second_{name}": getattr(pair.second, name) for name in ("sweep", "case", "run")},
            "names": list(names_of(results, pair)),
            "reason": pair.reason or None,
            "steps": list(pair.steps),
            "relative_l2": list(pair.relative_l2),
            "largest_difference": list(pair.largest),
            "first_step_above_rounding": pair.first_above_rounding,
            "loss_differences": list(pair.losses),
            "sampled": pair.is_sampled,
        }


def _label(results: Results, run: Recorded) -> str:
    rows = results.cases[(results.cases["sweep"] == run.sweep) & (results.cases["case"] == run.case)]
    return results.full_label(rows.iloc[0]) or run.case


def _end(pair: Divergence) -> tuple[str, ...]:
    """Return the cells of the differences after the last step."""
    if pair.reason:
        return ("-",) * 5
    above, loss = pair.first_above_rounding, pair.losses[-1] if pair.losses else None
    numbers = [pair.relative_l2[-1], pair.largest[-1], math.nan if loss is None else loss]
    return (f"{pair.steps[-1]:,}", *map(_number, numbers), "none" if above is None else f"{above:,}")


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2e}" if value else "0"


def _remark(pair: Divergence) -> str:
    if pair.reason:
        return f"not compared ({pair.reason})"
    stored = pair.first.trajectory.stored or 0
    return f"from a sample of {plural(stored, 'weight')}" if pair.is_sampled else ""
