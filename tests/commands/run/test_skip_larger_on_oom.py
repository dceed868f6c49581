"""Sweeps on this machine that run out of memory for real, and what is skipped of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hpcbench.core.run_spec import parse
from hpcbench.core.start_rules import oom_pruning

FITS, TOO_MUCH, MORE = 1, 500, 700  # MB, where 400 are allowed
SMALLER_FIRST = 1  # a seed of the order of three cases by which the second runs before the first
LIMITED = f"ulimit -v 400000; {sys.executable} -c 'bytearray({{{{ batch_size }}}} * 10**6)'"


def by_size(records: list[dict[str, Any]]) -> dict[int, list[tuple[str, str | None]]]:
    found: dict[int, list[tuple[str, str | None]]] = {}
    for record in records:
        message = record["error"] and record["error"]["message"]
        found.setdefault(record["parameters"]["batch_size"], []).append((record["status"], message))
    return found


@pytest.fixture
def command(command_line):
    """The command line, and an experiment of a program that is allowed 400 MB and takes as many as its batch size."""

    def write(line=LIMITED, **sections):
        given = {"framework": "command", "command": line, "model": None, "model_options": {}}
        return command_line.experiment(
            parameters=given,
            matrix={"batch_size": [MORE, TOO_MUCH, FITS]},
            **{"skip_larger_on_oom": ["batch_size"], **sections},
        )

    return write


def test_what_is_larger_is_skipped_with_its_reason_until_the_smaller_one_completes(command_line, command, tmp_path):
    room = tmp_path / "room"
    line = f"[ -e {room} ] || {LIMITED}"
    experiment = command(line, measure={"shuffle_seed": SMALLER_FIRST})
    command_line("sweep", experiment, "--local", expect=1)
    found = by_size(command_line.records())
    assert found[FITS] == [("completed", None)]
    assert found[TOO_MUCH] == [("out_of_memory", "the command ran out of memory: MemoryError")]
    ((status, reason),) = found[MORE]
    assert status == "skipped"
    assert "batch_size=500 ran out of memory (case c" in reason
    assert reason.endswith(", run 1), and batch_size=700 is larger")
    assert command_line.states() == {"completed": 1, "out_of_memory": 1, "skipped": 1}
    assert {row["status"]: row["error"] for row in command_line.report(expect=1)}["skipped"] == reason

    again = command_line("resume", "latest", expect=1)
    assert "1 run to resume" in again.stderr
    assert "skipped: 1 run larger than one that ran out of memory" in again.stderr
    assert command_line.states() == {"completed": 1, "out_of_memory": 1, "skipped": 1}

    room.touch()
    command_line("resume", "latest")
    assert command_line.states() == {"completed": 2, "skipped": 1}
    assert "skipped: 1 run" not in command_line("resume", "latest").stderr
    assert command_line.states() == {"completed": 3}


def test_without_monotone_everything_is_tried(command_line, command):
    command_line("sweep", command(skip_larger_on_oom=[]), "--local", expect=1)
    statuses = {size: [status for status, _ in ended] for size, ended in by_size(command_line.records()).items()}
    assert statuses == {FITS: ["completed"], TOO_MUCH: ["out_of_memory"], MORE: ["out_of_memory"]}
    (script,) = command_line.workspace.glob("jobs/*/*.sh")
    assert "$too_large" not in script.read_text()
    assert not list(command_line.workspace.glob("results/*/larger_than_oom"))


def test_nobody_waits_for_a_quiet_node_to_run_what_is_too_large(command_line, command, somebody_else):
    command_line("sweep", command(measure={"idle_node": "wait"}), "--local", "--render-only", "--name", "noisy")
    job = command_line.workspace / "jobs" / "noisy" / "job-001.sh"
    runs = {run.parameters["batch_size"]: run for run in map(parse, job.with_suffix(".jsonl").open())}
    oom_pruning.note(runs[TOO_MUCH], "out_of_memory", str(command_line.workspace / "results" / "noisy"))
    done = subprocess.run(
        ["bash", job, str(list(runs).index(MORE))], timeout=30, check=False
    )  # half of its time is 60 s
    assert done.returncode == 1
    ((status, reason),) = by_size(command_line.records())[MORE]
    assert status == "skipped"
    assert reason.endswith("and batch_size=700 is larger")


@pytest.mark.torch
def test_a_batch_that_pytorch_is_refused_memory_for_skips_larger_ones(command_line):
    """The activations alone, of 2,000 numbers an item, are more than the 8 GB that the set-up allows."""
    limited = {"python": sys.executable, "setup": ["ulimit -v 8000000"]}
    options = {"input_size": 1, "hidden_size": 2000}
    experiment = command_line.experiment(
        parameters={"model_options": options, "task": "inference"},
        matrix={"batch_size": [2_000_000, 1_000_000, 4]},
        skip_larger_on_oom=["batch_size"],
        measure={"shuffle_seed": SMALLER_FIRST},
    )
    command_line("sweep", experiment, "--site", command_line.site(environments={"pytorch": limited}), expect=1)
    found = by_size(command_line.records())
    assert found[4] == [("completed", None)]
    ((status, message),) = found[1_000_000]
    assert status == "out_of_memory"
    assert "DefaultCPUAllocator: can't allocate memory" in message
    ((status, reason),) = found[2_000_000]
    assert status == "skipped"
    assert "batch_size=1000000 ran out of memory" in reason
