"""Records are checked when they are read; what the node writes passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.record import Record
from hpcbench.core.status import STATUSES
from hpcbench.core.typed_json import InvalidError, to_json
from hpcbench.store.records import checked_record

MakeRecord = Callable[..., Record]
GONE = object()
METRIC = {"value": 7.5, "unit": "it/s", "better": None}
COMMAND = {"framework": "command", "command": "./run", "model": None}


def written(record: Record) -> dict[str, Any]:
    """As it comes from a file."""
    found: dict[str, Any] = json.loads(json.dumps(to_json(record)))
    return found


def changed(made: Record, path: str, value: Any) -> dict[str, Any]:
    """The record with what lies at `path` replaced, or left out."""
    *folders, name = (int(part) if part.isdigit() else part for part in path.split("."))
    record = written(made)
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
def test_what_the_node_writes_has_none(make_record: MakeRecord, status: str, parameters: dict[str, Any]) -> None:
    made = make_record(status=status, parameters=parameters)
    assert checked_record(written(made)) == made


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(
            (name, None)
            for name in ("git", "error", "metrics", "learning", "work", "threads", "measurements", "attempt")
        ),
        *((name, None) for name in ("import_s", "build_s", "peak_memory_bytes", "python", "packages", "interference")),
        ("nodes.0.cpu_model", GONE),
        ("work.items_per_step", None),
        ("measurements.times_s", [0.1, None, float("nan"), 2]),
        ("measurements.first_step_s", None),
        ("metrics", {"rate": METRIC}),
        ("user_parameters", {"note": None}),
        ("something_new", {}),
        ("status", "of a later version"),
    ],
)
def test_what_may_be_null_or_absent_is_accepted(make_record: MakeRecord, path: str, value: Any) -> None:
    checked_record(changed(make_record(), path, value))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("measurements", GONE, "measurements is missing"),
        ("started_at", None, "started_at is null"),
        ("started_at", "yesterday", "started_at is not a time with a zone"),
        ("ended_at", "2026-11-01T00:00:00", "ended_at is not a time with a zone"),
        ("ranks.0.ended_at", "", "ranks[0].ended_at is not a time with a zone"),
        ("parameters", [], "parameters is an array"),
        ("parameters.cpus_per_task", None, "parameters.cpus_per_task is null"),
        ("parameters.gpus_per_task", GONE, "parameters.gpus_per_task is missing"),
        ("parameters.batch_size", None, "parameters.batch_size is null"),
        ("parameters.intra_op_threads", 2**63, "parameters.intra_op_threads does not fit into 64 bits"),
        ("parameters.inter_op_threads", "two", "parameters.inter_op_threads is a string"),
        ("nodes.0.hostname", None, "nodes[0].hostname is null"),
        ("measurements.times_s", ["fast"], "measurements.times_s[0] is a string"),
        ("metrics", {"rate": {"value": 7.5, "unit": "it/s"}}, "metrics.rate.better is missing"),
        ("metrics", {"rate": 7.5}, "metrics.rate is a number"),
        ("nodes", ["n1"], "nodes[0] is a string"),
        ("ended_at", "9999-12-31T23:59:59+00:00", "ended_at is not a time with a zone"),
        ("started_at", "0001-01-01T00:00:00+00:00", "started_at is not a time with a zone"),
        ("run", 2**63, "run does not fit into 64 bits"),
        ("parameters.nodes", -(2**63) - 1, "parameters.nodes does not fit into 64 bits"),
        ("peak_memory_bytes", 10**400, "peak_memory_bytes does not fit into 64 bits"),
        (
            "measurements.windows.0",
            {"start_s": 0.0, "end_s": 1.0, "samples": 3},
            "measurements.windows[0] is an object",
        ),
        ("nodes.0.hostname", GONE, "nodes[0].hostname is missing"),
        ("warnings", [None], "warnings[0] is null"),
        ("error", {"type": "ValueError", "message": {}}, "error.message is an object"),
        ("status", 1, "status is a number"),
        ("job", "../..", "job is not a valid name"),
    ],
)
def test_what_is_wrong_is_said(make_record: MakeRecord, path: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidError) as raised:
        checked_record(changed(make_record(), path, value))
    assert str(raised.value) == words
