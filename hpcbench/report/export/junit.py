"""A comparison as JUnit XML for CI systems, with one test per case and quantity."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from xml.etree import ElementTree  # nosec B405

import pandas as pd

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.stats.equivalence import FASTER, SAME
from hpcbench.analysis.studies.comparison import BETTER, Comparison
from hpcbench.report.terminal.comparison import Metrics, in_words, quantity_of, summary
from hpcbench.report.text.ranking import heading

_PASSES = (FASTER, SAME, BETTER)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def junit(comparison: Comparison, candidates: list[str], metrics: Metrics, failing: Collection[str]) -> str:
    """Return JUnit XML: verdicts in `failing` are failures; other verdicts are skipped tests unless they pass."""
    rows = comparison.rows
    suite = ElementTree.Element("testsuite", name=f"{comparison.new} compared to {comparison.base}")
    shown = telling_apart(rows, candidates)
    for _, row in rows.iterrows():
        _test(suite, row, shown, metrics, failing)
    failures, skipped = (str(sum(1 for _ in suite.iter(kind))) for kind in ("failure", "skipped"))
    tests = sum(1 for _ in suite.iter("testcase"))
    suite.attrib.update(tests=str(tests), failures=failures, errors="0", skipped=skipped)
    ElementTree.SubElement(suite, "system-out").text = _clean(summary(comparison))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _test(
    suite: ElementTree.Element,
    row: pd.Series[Any],
    shown: list[str],
    metrics: Metrics,
    failing: Collection[str],
) -> None:
    quantity = quantity_of(row, metrics)
    name = " ".join(filter(None, (row["case"], label(row, shown) if shown else "", heading(quantity))))
    test = ElementTree.SubElement(suite, "testcase", classname=_clean(row["experiment"]), name=_clean(name))
    if quantity == TIME and not pd.isna(row["new_median"]):
        test.set("time", f"{row['new_median']:.9f}")
    word = row["verdict"]
    if word not in failing and word in _PASSES:
        return
    reason = _clean(f"{word}: {in_words(row, metrics)}")
    element = ElementTree.SubElement(test, "failure" if word in failing else "skipped", message=reason)
    if word in failing:
        element.set("type", word)
        element.text = reason  # CI systems show either the text or the message


def _clean(text: str) -> str:
    """Return text with characters that XML does not allow replaced."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
