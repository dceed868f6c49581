"""The predictions of a sweep that has not run, as a dry run shows them."""

from __future__ import annotations

from hpcbench.report.text.predicted.planned import planned_columns, reasons
from hpcbench.store.predictions import SCHEMA, CasePrediction, Estimate, SweepPredictions

TIME, POWER = Estimate(0.02, 0.01, 0.04), Estimate(50.0, 40.0, 60.0)
CASES = [
    CasePrediction("c1", "", "l4", TIME, POWER, memory_bytes=Estimate(2.0**30, 2.0**29, 2.0**31)),
    CasePrediction("c2", "", "l4", Estimate(0.2, 0.1, 0.4)),
]


def test_quantities_that_no_case_has_are_left_out() -> None:
    columns = planned_columns(CASES)
    headers = ["case", "predicted on", "step time (ms)", "90 % PI", "power (W)", "90 % PI", "memory (MiB)"]
    assert [column.header for column in columns] == [*headers[:-1], "memory (GiB)"]
    assert columns[2].cells == ("20.0", "200.0")
    assert columns[3].cells == ("10.0 - 40.0", "100.0 - 400.0")
    assert columns[4].cells == ("50.0", "-")
    assert columns[5].cells == ("40.0 - 60.0", "")


def test_cases_without_a_time_have_their_reasons_grouped() -> None:
    refused = [CasePrediction(f"c{place}", "", reason="it is odd") for place in range(3, 9)]
    found = SweepPredictions(SCHEMA, "now", "0.1.0", "a model", None, None, [], [*CASES, *refused])
    assert reasons(found) == ["not predicted: c3, c4, c5, c6 and 2 other cases: it is odd"]
