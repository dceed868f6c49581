"""The command list-operators: one line per case, with operators or a reason."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hpcbench.core.profiling.operator_list import ListedOperator, OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.node.errors import BadModel, FixedBatch, IncompleteInput, UnknownWork
from hpcbench.node.worker import listing


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"framework": "command", "model": None, "command": "true"}, "command"),
        ({"task": "operator", "operator": "gemm"}, "task: operator has no network"),
        ({"strategy": "ddp", "task": "training", "tasks_per_node": 2}, "several processes"),
        ({"instances": 2}, "several processes"),
        ({"model": "nothing_here:net", "input": {"shape": [3]}}, "nothing_here"),
    ],
)
def test_cases_without_a_list_have_a_reason(
    make_planned: Callable[..., PlannedRun], changes: dict[str, Any], reason: str
) -> None:
    if changes.get("model") == "nothing_here:net":
        pytest.importorskip("torch")
    planned = make_planned(**changes)
    found = listing.listed(planned)
    assert (found.case_id, list(found.operators)) == (planned.case_id, [])
    assert reason in found.reason


def test_a_line_per_case(
    tmp_path: Path, make_planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing.gc, "disable", lambda: None)
    job, result = tmp_path / "job.jsonl", tmp_path / "result.jsonl"
    cases = [make_planned(task="operator", operator="gemm"), make_planned(instances=2)]
    job.write_text("".join(each.as_line() + "\n" for each in cases), encoding="utf-8")
    assert listing.list_operators(Namespace(job_file=str(job), result_file=str(result))) == 0
    lines = result.read_text(encoding="utf-8").splitlines()
    found = [from_json(OperatorList, json.loads(line)) for line in lines]
    assert [bool(each.reason) for each in found] == [True, True]


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (BadModel("it is odd"), ([], None)),
        (IncompleteInput("it has no shape", ["shape"]), (["shape"], None)),
        (FixedBatch("it has a batch of 4", 4), ([], 4)),
        (UnknownWork("it has an operator of its own"), ([], None)),
    ],
)
def test_reasons_that_options_can_remove_are_fields(
    make_planned: Callable[..., PlannedRun],
    monkeypatch: pytest.MonkeyPatch,
    error: BadModel,
    fields: tuple[list[str], int | None],
) -> None:
    def load(framework: str) -> None:
        raise error

    monkeypatch.setattr(listing.frameworks, "load", load)
    found = listing.listed(make_planned(task="inference"))
    assert (found.reason, found.lacks_input, found.fixed_batch_size) == (str(error), *fields)
    assert (".pt2" in found.hint) == isinstance(error, UnknownWork)


@pytest.mark.parametrize("field", ["bytes_moved", "output_bytes", "weight_bytes", "flops"])
def test_a_list_with_numbers_of_more_than_64_bits_has_a_reason(
    make_planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    small = ListedOperator("other", "onnx.Relu", "forward", "{}", 1, 8, 0, 4, False, flops=2)
    adapter = Mock(libraries=[Mock(version="1")])
    monkeypatch.setattr(listing.frameworks, "load", lambda framework: adapter)
    for number, is_refused in ((2**63 - 1, False), (2**63, True)):
        adapter.operators_of.return_value = OperatorList("", operators=(replace(small, **{field: number}),))
        found = listing.listed(make_planned(task="inference"))
        assert bool(found.reason) == is_refused, found.reason
        assert bool(found.operators) != is_refused
    assert "too large" in found.reason
    assert "smaller batch size" in found.hint
