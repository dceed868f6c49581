"""A comparison as JUnit XML for CI systems, with one test per case and quantity."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.stats.equivalence import FASTER, SAME
from hpcbench.analysis.studies.comparison import BETTER, Comparison
from hpcbench.report.export.junit import FAILURE, SKIPPED, Test, junit
from hpcbench.report.terminal.comparison import Metrics, in_words, quantity_of, summary
from hpcbench.report.text.ranking import heading

_PASSES = (FASTER, SAME, BETTER)


def comparison_junit(
    comparison: Comparison,
    candidates: list[str],
    metrics: Metrics,
    failing: Collection[str],
    others: Sequence[Test] = (),
) -> str:
    """Return JUnit XML: verdicts in `failing` are failures; other verdicts are skipped tests unless they pass.

    The tests in `others` follow.
    """
    rows = comparison.rows
    shown = telling_apart(rows, candidates)
    tests = [_test(row, shown, metrics, failing) for _, row in rows.iterrows()]
    return junit(f"{comparison.new} compared to {comparison.base}", [*tests, *others], summary(comparison))


def _test(row: pd.Series[Any], shown: list[str], metrics: Metrics, failing: Collection[str]) -> Test:
    quantity = quantity_of(row, metrics)
    name = " ".join(filter(None, (row["case"], label(row, shown) if shown else "", heading(quantity))))
    time_s = float(row["new_median"]) if quantity == TIME and not pd.isna(row["new_median"]) else None
    word = row["verdict"]
    if word not in failing and word in _PASSES:
        return Test(row["experiment"], name, time_s=time_s)
    outcome = FAILURE if word in failing else SKIPPED
    return Test(row["experiment"], name, outcome, word, f"{word}: {in_words(row, metrics)}", time_s)
