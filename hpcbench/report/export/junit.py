"""Tests as JUnit XML for CI systems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree  # nosec B405

FAILURE, SKIPPED = "failure", "skipped"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


class Test(NamedTuple):
    """A test of a group of tests. It passes unless `outcome` is FAILURE or SKIPPED, with a type and a reason."""

    group: str
    name: str
    outcome: str = ""
    type: str = ""
    reason: str = ""
    time_s: float | None = None


def junit(title: str, tests: Iterable[Test], output: str) -> str:
    """Return JUnit XML with one suite of tests, and a text as its output."""
    suite = ElementTree.Element("testsuite", name=_clean(title))
    for test in tests:
        _add(suite, test)
    failures, skipped = (str(sum(1 for _ in suite.iter(kind))) for kind in (FAILURE, SKIPPED))
    count = sum(1 for _ in suite.iter("testcase"))
    suite.attrib.update(tests=str(count), failures=failures, errors="0", skipped=skipped)
    ElementTree.SubElement(suite, "system-out").text = _clean(output)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ElementTree.Element, test: Test) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=_clean(test.group), name=_clean(test.name))
    if test.time_s is not None:
        element.set("time", f"{test.time_s:.9f}")
    if test.outcome:
        reason = _clean(test.reason)
        found = ElementTree.SubElement(element, test.outcome, message=reason)
        if test.outcome == FAILURE:
            found.set("type", test.type)
            found.text = reason  # CI systems show either the text or the message


def _clean(text: str) -> str:
    """Return text with characters that XML does not allow replaced."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
