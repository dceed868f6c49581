"""What others do to a sweep on this machine: it is told, measured again, or not begun at all."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

SECONDS = "while [ $SECONDS -lt 3 ]; do :; done"  # of a shell that computes


@pytest.fixture
def sweep(command_line) -> Any:
    def run(*arguments: str, expect: int = 0, **measure: Any) -> subprocess.CompletedProcess[str]:
        content = {
            "name": "trial",
            "parameters": {"framework": "command", "command": SECONDS},
            "measure": {"repetitions": 1, **measure},
        }
        (command_line.workspace / "trial.yaml").write_text(json.dumps(content))
        done: subprocess.CompletedProcess[str] = command_line(
            "sweep", "trial.yaml", "--local", *arguments, expect=expect
        )
        return done

    return run


def records(workspace: Path) -> list[dict[str, Any]]:
    (path,) = workspace.glob("results/*/records/*/*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.usefixtures("somebody_else")
def test_what_others_disturb_is_measured_again_and_every_attempt_is_kept(command_line, sweep) -> None:
    done = sweep(retries=1)
    assert "completed, interference: cpu, memory" in done.stderr
    found = records(command_line.workspace)
    assert [record["attempt"] for record in found] == [1, 2]
    assert [record["interference"]["verdict"] for record in found] == ["interference"] * 2
    (kept,) = command_line.workspace.glob("results/*/timelines/*/local.jsonl.gz")
    headers = [line for line in map(json.loads, gzip.decompress(kept.read_bytes()).splitlines()) if "schema" in line]
    assert [header["run"].split("-")[-1] for header in headers] == ["1", "2"]
    (row,) = command_line.report()
    assert (row["status"], row["runs"], row["interference_runs"], row["attempts"]) == (
        "completed",
        "1",
        "1",
        "2",
    )
    assert row["interference_causes"] == "cpu, memory"
    assert "interference: cpu, memory" in command_line("status").stdout
    command_line("resume", "latest")
    assert len(records(command_line.workspace)) == 2
    command_line("resume", "latest", "--interference")
    assert len(records(command_line.workspace)) == 4


@pytest.mark.usefixtures("somebody_else")
def test_nothing_is_begun_on_a_node_that_must_be_quiet_and_is_not(command_line, sweep) -> None:
    done = sweep(idle_node="require", expect=1)
    assert "skipped: the node is not idle" in done.stderr
    (record,) = records(command_line.workspace)
    assert record["status"] == "skipped"
    assert record["measurements"] is None
    assert "CPUs are busy" in record["error"]["message"]
    assert record["started_at"]
    (row,) = command_line.report(expect=1)
    assert (row["status"], row["time_median_s"]) == ("skipped", "")


def test_a_command_that_is_over_at_once_is_not_judged(command_line, sweep) -> None:
    command_line.workspace.joinpath("short.yaml").write_text(
        json.dumps(
            {"name": "short", "parameters": {"framework": "command", "command": "true"}, "measure": {"repetitions": 1}}
        )
    )
    command_line("sweep", "short.yaml", "--local")
    (record,) = records(command_line.workspace)
    assert record["status"] == "completed"
    assert record["interference"]["verdict"] == "unmonitored"
