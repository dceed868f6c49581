"""Cases of a program whose operators are known by batch size."""

from __future__ import annotations

from dataclasses import replace

from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.predict.results.program_cases import program_cases
from tests.predict.results.test_listed_cases import PRODUCT


def test_each_batch_is_a_case_with_its_list_and_memory() -> None:
    found = OperatorList("", "", [replace(PRODUCT, dtype="bfloat16")], "2.13", 1000)
    cases = program_cases("net", {1: found, 8: found}, "bfloat16")
    assert cases.cases["label"].tolist() == ["batch_size=1", "batch_size=8"]
    assert cases.cases["items_per_step"].tolist() == [1, 8]
    assert cases.lists["list_id"].tolist() == ["net-1", "net-8"]
    assert cases.memory["net-1"].low == 2 * 1000 + 64
    assert program_cases("net", {8: found}, "bfloat16").cases["label"].tolist() == [""]


def test_a_program_without_operators_has_no_memory() -> None:
    cases = program_cases("net", {1: OperatorList("", "", [], "2.13", 0)}, "float32")
    assert len(cases.lists) == 0
    assert cases.memory == {}
