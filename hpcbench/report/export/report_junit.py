"""The cases of a report as JUnit XML for CI systems: one test per case, and one per condition of `accept`."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hpcbench.analysis.acceptance import ACCEPTED, Check
from hpcbench.analysis.cases.quantities import NOT_FOUND
from hpcbench.analysis.results import Results
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.status import COMPLETED, METRIC_NOT_FOUND
from hpcbench.report.export.junit import FAILURE, Test, junit
from hpcbench.report.text.acceptance import by_case, sentence, summary


def report_junit(results: Results) -> str:
    """Return JUnit XML. A test fails if a case has not completed, lacks a metric or is not accepted."""
    names = ", ".join(dict.fromkeys(results.cases["sweep"]))
    output = f"accept: {summary(results.acceptance)}" if results.acceptance else ""
    return junit(names, [*_of_cases(results), *acceptance_tests(results)], output)


def _of_cases(results: Results) -> Iterator[Test]:
    for (_, case), name in zip(results.cases.iterrows(), _names(results), strict=True):
        time_s = None if pd.isna(case["time_median_s"]) else float(case["time_median_s"])
        lacking, why = (case[column] for column in NOT_FOUND)
        if case["status"] != COMPLETED:
            reason = case["status"] if pd.isna(case["error"]) else f"{case['status']}: {case['error']}"
            yield Test(case["experiment"], name, FAILURE, case["status"], reason, time_s)
        elif not pd.isna(lacking):
            yield Test(case["experiment"], name, FAILURE, METRIC_NOT_FOUND, f"{lacking}: {why}", time_s)
        else:
            yield Test(case["experiment"], name, time_s=time_s)


def acceptance_tests(results: Results) -> Iterator[Test]:
    """Yield a test for each condition of `accept` and each case: only an accepted one passes."""
    checked = by_case(results.acceptance)
    for (_, case), name in zip(results.cases.iterrows(), _names(results), strict=True):
        for check in checked.get((case["sweep"], case["case"]), ()):
            yield _of_condition(check, case["experiment"], name)


def _of_condition(check: Check, experiment: str, case: str) -> Test:
    name = f"{case} {check.required.quantity.title} {check.required.condition}"
    if check.verdict == ACCEPTED:
        return Test(experiment, name)
    return Test(experiment, name, FAILURE, check.verdict, sentence(check))


def _names(results: Results) -> list[str]:
    """Return the ID of each case, followed by its label, or by its workload if no parameter differs.

    Commands may be long; without a label, their cases have the ID only.
    """
    names = []
    for _, case in results.cases.iterrows():
        label = results.full_label(case)
        if label == case["case"]:
            label = "" if case["framework"] == COMMAND else results.title_of(case)
        names.append(" ".join(filter(None, (case["case"], label))))
    return names
