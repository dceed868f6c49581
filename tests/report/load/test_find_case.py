"""Which case is meant by what a user writes."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.report.load.find_case import row_of_case


def test_a_user_parameter_comes_before_a_column_of_results() -> None:
    cases = pd.DataFrame({"case": ["a", "b"], "runs": [3, 3], "param_runs": [3, 4]})
    assert row_of_case(cases, "runs=4", "--baseline-case") == 1


def test_a_value_in_parentheses_may_contain_commas_and_equals_signs() -> None:
    adamw = "adamw(betas=[0.9,0.95],clip_norm=1.0)"
    cases = pd.DataFrame({"case": ["a", "b"], "optimizer": ["sgd", adamw], "batch_size": [8, 8], "sweep": ["s", "s"]})
    assert row_of_case(cases, f"optimizer={adamw},batch_size=8", "--case") == 1
    assert row_of_case(cases, f"batch_size=8,optimizer={adamw}", "--case") == 1


def test_a_dotted_key_selects_a_value_of_a_mapping() -> None:
    options = ['{"width": 64, "head": {"bias": true}}', '{"width": 256}', None]
    cases = pd.DataFrame({"case": ["a", "b", "c"], "model_options": options, "sweep": ["s"] * 3, "model": "net"})
    assert row_of_case(cases, "model_options.width=256", "--case") == 1
    assert row_of_case(cases, "model_options.head.bias=True,model=net", "--case") == 0
    with pytest.raises(UserError, match=r"unknown column 'model_options\.depth'"):
        row_of_case(cases, "model_options.depth=1", "--case")
    with pytest.raises(UserError, match=r"unknown column 'model\.name'"):
        row_of_case(cases, "model.name=net", "--case")
