"""Reading all sweeps of an experiment from their record files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.history import drivers, heads, read_past
from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from hpcbench.node.host.inventory_file import path_of
from hpcbench.store.records import RECONCILED
from hpcbench.store.workspace import Workspace

Make = Callable[..., Record]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def write(workspace: Workspace, sweep: str, *records: Record | dict[str, Any], file: str = "job-1/local.jsonl") -> None:
    path = workspace.paths(sweep).records / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lines:
        lines.writelines(json.dumps({**to_json(record), "sweep": sweep}) + "\n" for record in records)


def read(workspace: Workspace) -> Any:
    return read_past(heads(workspace).found, lambda done, of: None)


def test_sweeps_come_in_the_order_of_time_not_of_their_names(workspace: Workspace, make_record: Make) -> None:
    for name, day in (("b", "02"), ("a", "03"), ("c", "01")):
        write(workspace, name, make_record(started_at=f"2026-01-{day}T00:00:00+00:00"))
    found = heads(workspace)
    assert [head.paths.name for head in found.found] == ["c", "b", "a"]
    assert {(head.experiment, head.site) for head in found.found} == {("experiment-1", "laptop")}
    assert found.left_out == {}


def test_a_sweep_without_records_is_none_yet_and_one_of_damaged_lines_is_told(
    workspace: Workspace, make_record: Make
) -> None:
    workspace.paths("planned").records.mkdir(parents=True)
    damaged = workspace.paths("damaged").records / "job-1"
    damaged.mkdir(parents=True)
    (damaged / "local.jsonl").write_text("{}\n")
    write(workspace, "good", make_record())
    found = heads(workspace)
    assert [head.paths.name for head in found.found] == ["good"]
    assert list(found.left_out) == ["damaged"]


def test_what_was_made_up_later_does_not_say_when_a_sweep_began(workspace: Workspace, make_record: Make) -> None:
    made_up = make_record(1, attempt=None, started_at="2026-01-09T00:00:00+00:00")
    write(workspace, "sweep-1", made_up, file=RECONCILED)
    assert heads(workspace).found[0].started_at == "2026-01-09T00:00:00+00:00"
    write(workspace, "sweep-1", make_record(started_at="2026-01-01T00:00:00+00:00"))
    assert heads(workspace).found[0].started_at == "2026-01-01T00:00:00+00:00"


def test_the_best_attempt_of_each_repetition_counts(workspace: Workspace, make_record: Make) -> None:
    with_interference = {
        "verdict": "interference",
        "found": [{"causes": ["cpu"], "what": "", "windows": 1, "size": 1.0}],
    }
    write(
        workspace,
        "sweep-1",
        make_record(times_s=[9.0], interference=with_interference),
        make_record(times_s=[1.0]),
        make_record(status="failed"),
        make_record(1, status="failed"),
    )
    rows = read(workspace).rows
    assert [(row["case"], row["status"], row["times_s"].tolist()) for row in rows] == [
        ("000000000000", "completed", [1.0]),
        ("000000000001", "failed", []),
    ]
    assert rows[1]["error"] == "it broke"


def test_a_row_has_metrics_setup_and_work(workspace: Workspace, make_record: Make) -> None:
    metrics = {"rate": {"value": 7.5, "unit": "it/s", "better": "higher"}}
    write(workspace, "sweep-1", make_record(metrics=metrics))
    past = read(workspace)
    (row,) = past.rows
    assert row["metric_rate_it_per_s"] == 7.5
    assert past.metrics["metric_rate_it_per_s"].better == "higher"
    assert (row["cpu_model"], row["nodes_used"], row["framework_version"]) == ("a CPU", "n1", "2.13.0+cpu")
    assert row["work"] == (100, 200, "float32", "matmul highest")


def test_sweeps_that_cannot_be_read_are_left_out_whole_and_of_others_damaged_records(
    workspace: Workspace, make_record: Make
) -> None:
    write(workspace, "good", make_record())
    write(workspace, "newer", make_record(), replace(make_record(1), schema=99))
    odd = to_json(make_record(1))
    del odd["nodes"]
    write(workspace, "odd", make_record(), odd)
    past = read(workspace)
    assert [(row["sweep"], row["case"]) for row in past.rows] == [(name, "000000000000") for name in ("good", "odd")]
    assert past.left_out["newer"].startswith("the record has schema 99")
    assert list(past.left_out) == ["newer"]
    assert [line.split("/")[-1] for line in past.damaged] == ["local.jsonl:2 (nodes is missing)"]


def test_the_drivers_of_a_sweep_are_those_that_its_nodes_have_told(workspace: Workspace) -> None:
    paths = workspace.paths("sweep-1")
    assert drivers(paths) == ()
    told = {"n1": '{"gpus": {"driver": "550.54"}}', "n2": '{"gpus": {"driver": null}}', "n3": "[]", "n4": "{"}
    for host, text in told.items():
        file = Path(path_of(str(paths.results / "nodes"), host))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert drivers(paths) == ("550.54",)
