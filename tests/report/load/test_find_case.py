"""Which case is meant by what a user writes."""

from __future__ import annotations

import pandas as pd

from hpcbench.report.load.find_case import row_of_case


def test_a_user_parameter_comes_before_a_column_of_results() -> None:
    cases = pd.DataFrame({"case": ["a", "b"], "runs": [3, 3], "param_runs": [3, 4]})
    assert row_of_case(cases, "runs=4", "--baseline-case") == 1
