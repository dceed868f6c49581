"""Names of tests in JUnit."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from hpcbench.analysis.results import Results
from hpcbench.report.export.report_junit import report_junit
from tests.report.synthetic_results import case, results, threads


def names(found: Results) -> list[str]:
    root = ElementTree.fromstring(report_junit(found))  # noqa: S314 - written by us
    return [test.get("name", "") for test in root.iter("testcase")]


def test_a_single_case_has_its_workload_in_its_name() -> None:
    found = results(case(0.03))
    (name,) = names(found)
    assert name == "case-0 mlp training float32 pytorch cpu, batch size 32, 100 parameters"


@pytest.mark.parametrize(
    "changes", [{"status": "failed"}, {"framework": "command", "command": "sleep 1", "model": None}]
)
def test_a_single_case_without_a_title_has_its_id_once(changes: dict[str, Any]) -> None:
    assert names(results(case(0.03, **changes))) == ["case-0"]


def test_several_cases_have_the_parameters_that_differ_in_their_names() -> None:
    found = results(threads(1), threads(2))
    assert sorted(names(found)) == ["case-0 intra_op_threads=1", "case-1 intra_op_threads=2"]
