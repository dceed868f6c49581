"""Each warning once, also if its numbers differ."""

from __future__ import annotations

import pandas as pd

from hpcbench.report.text.case_warnings import case_warnings


def test_warnings_that_differ_only_in_numbers_are_one() -> None:
    texts = ["the mean is 7.73x the median", None, "a rank is slow", "the mean is 1,011x the median", "a rank is slow"]
    cases = pd.DataFrame({"warnings": [*texts, "the mean is 2x the median", "it failed"], "case": range(7)})
    assert list(case_warnings(cases, lambda case: f"mode={case['case']}")) == [
        "the mean is 7.73x the median (3 cases; numbers of the first)",
        "a rank is slow (2 cases)",
        "it failed (mode=6)",
    ]
    assert list(case_warnings(pd.DataFrame({"warnings": ["once"]}), str)) == ["once"]
