"""The command list-operators: one line per case, with operators or a reason."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import from_json
from hpcbench.node.errors import BadModel, FixedBatch, IncompleteInput
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
        (BadModel("it is odd"), (False, None)),
        (IncompleteInput("it has no shape"), (True, None)),
        (FixedBatch("it has a batch of 4", 4), (False, 4)),
    ],
)
def test_reasons_that_options_can_remove_are_fields(
    make_planned: Callable[..., PlannedRun],
    monkeypatch: pytest.MonkeyPatch,
    error: BadModel,
    fields: tuple[bool, int | None],
) -> None:
    def load(framework: str) -> None:
        raise error

    monkeypatch.setattr(listing.frameworks, "load", load)
    found = listing.listed(make_planned(task="inference"))
    assert (found.reason, found.lacks_input, found.fixed_batch_size) == (str(error), *fields)
