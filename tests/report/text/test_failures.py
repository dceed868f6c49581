"""Failures by cause, in lines."""

from __future__ import annotations

from hpcbench.report.text.failures import failures_of
from tests.report.made import repetitions_of, results

WHY = "the pattern 'r: (.)' was not found in the output"


def test_a_metric_that_is_not_found_is_one_line_whatever_ends_the_outputs() -> None:
    lacks = [
        repetitions_of(
            case, 1, batch_size=case, metrics_not_found="rate", metrics_not_found_reason=f"{WHY}, which ends: {end}"
        )
        for case, end in enumerate(["epoch 1", "bye", "loss; 3"], 1)
    ]
    empty = repetitions_of(
        4, 1, batch_size=4, metrics_not_found="rate", metrics_not_found_reason=f"{WHY}, which is empty"
    )
    several, one = failures_of(results(*lacks, empty))
    assert several.in_words.startswith(" 3 cases (batch_size=1; batch_size=2; batch_size=3): for example: rate: ")
    assert f"for example: rate: {WHY}, which ends: epoch 1" in several.in_words
    assert one.in_words.startswith(f" batch_size=4: rate: {WHY}, which is empty")


def test_the_only_case_of_a_report_has_no_name() -> None:
    lost = [repetitions_of(case, 1, batch_size=case, status="failed", error="it broke", log="1.out") for case in (1, 2)]
    (both,) = failures_of(results(*lost))
    assert both.in_words.startswith(" 2 cases (batch_size=1; batch_size=2): it broke")
    (only,) = failures_of(results(lost[0]))
    assert only.in_words == ": it broke (log: 1.out)"
