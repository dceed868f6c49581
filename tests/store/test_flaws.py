"""A record has a flaw where a report could not be made of it; what the node writes has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.status import STATUSES
from hpcbench.store.flaws import flaw

Record = dict[str, Any]
MakeRecord = Callable[..., Record]
GONE = object()
METRIC = {"value": 7.5, "unit": "it/s", "better": None}
COMMAND = {"framework": "command", "command": "./run", "model": None}


def written(record: Record) -> Record:
    """As it comes from a file."""
    found: Record = json.loads(json.dumps(record))
    return found


def changed(record: Record, path: str, value: Any) -> Record:
    """The record with what lies at `path` replaced, or left out."""
    *folders, name = (int(part) if part.isdigit() else part for part in path.split("."))
    record = written(record)
    place: Any = record
    for folder in folders:
        place = place[folder]
    if value is GONE:
        del place[name]
    else:
        place[name] = value
    return record


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("parameters", [{}, COMMAND], ids=["model", "command"])
def test_what_the_node_writes_has_none(make_record: MakeRecord, status: str, parameters: Record) -> None:
    assert flaw(written(make_record(status=status, parameters=parameters))) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((name, None) for name in ("git", "error", "metrics", "learning", "work", "threads", "samples", "attempt")),
        *((name, None) for name in ("import_s", "build_s", "peak_memory_bytes", "python", "packages", "interference")),
        ("physical_cores", GONE),  # earlier versions do not tell
        ("nodes.0.cpu_model", GONE),
        ("work.items_per_step", None),
        ("samples.times_s", [0.1, None, float("nan"), 2]),
        ("samples.first_step_s", None),
        ("metrics", {"rate": METRIC}),
        ("tags", {"note": None}),
        ("something_new", {}),
        ("status", "of a later version"),
    ],
)
def test_what_may_be_null_or_absent_is_no_flaw(make_record: MakeRecord, path: str, value: Any) -> None:
    assert flaw(changed(make_record(), path, value)) is None


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("samples", GONE, "samples is missing"),
        ("started_at", None, "started_at is null"),
        ("started_at", "yesterday", "started_at is no time with a zone"),
        ("ended_at", "2026-11-01T00:00:00", "ended_at is no time with a zone"),
        ("ranks.0.ended_at", "", "the ended_at of a rank is no time with a zone"),
        ("parameters", [], "parameters is a list"),
        ("parameters.cpus_per_task", None, "parameters.cpus_per_task is null"),
        ("parameters.gpus_per_task", GONE, "parameters.gpus_per_task is missing"),
        ("parameters.batch_size", None, "parameters.batch_size is null"),
        ("work.flops_per_item", None, "work.flops_per_item is null"),
        ("samples.times_s", ["fast"], "samples.times_s holds what is no number"),
        ("metrics", {"rate": {"value": 7.5, "unit": "it/s"}}, "metrics.rate.better is missing"),
        ("metrics", {"rate": 7.5}, "metrics.rate is a number"),
        ("nodes", ["n1"], "nodes[0] is a text"),
        ("nodes.0.hostname", GONE, "nodes[0].hostname is missing"),
        ("warnings", [None], "warnings holds what is no text"),
        ("error", {"type": "ValueError", "message": {}}, "error.message is an object"),
        ("status", 1, "status is a number"),
        ("job", "../..", "job is no name that hpcbench gives"),
    ],
)
def test_what_is_wrong_is_said(make_record: MakeRecord, path: str, value: Any, words: str) -> None:
    assert flaw(changed(make_record(), path, value)) == words
