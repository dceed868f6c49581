"""A program that fails stops the sweep after its first run, and says so once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.integration

MEASURE = {"repetitions": 2, "retries": 0}


@pytest.fixture
def trial(command_line: Any) -> Callable[..., str]:
    """Write an experiment of a command in the workspace; return its file."""

    def write(command: str, **sections: Any) -> str:
        parameters = {"framework": "command", "command": command}
        content = {"name": "trial", "parameters": parameters, "measure": MEASURE, **sections}
        (command_line.workspace / "trial.yaml").write_text(yaml.safe_dump(content))
        return "trial.yaml"

    return write


def test_the_first_run_that_fails_stops_the_sweep_and_resume_continues(command_line: Any, trial: Any) -> None:
    file = trial("[ -e fuel ] || { echo no fuel >&2; exit 3; }")
    done = command_line("sweep", file, "--local", "--name", "one", expect=1)
    assert done.stderr.count("no fuel") == 2, "in the line of the run, and in the reason"
    assert "stopped, because the first run failed: the command exited with 3: no fuel; 1 run not started" in done.stderr
    assert "hpcbench logs one --failed" in done.stderr
    assert len(command_line.records()) == 1
    (command_line.workspace / "fuel").touch()
    assert "2/2" in command_line("resume", "one").stderr
    assert [record["status"] for record in command_line.records()][-2:] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (
            "no-such-program",
            "hpcbench resume one --no-fail-fast hint: if the command is wrong, correct it and start a new sweep",
        ),
        ("exit 3", "hint: to run the rest: hpcbench resume one --no-fail-fast"),
    ],
)
def test_a_command_that_is_not_found_has_the_hint_to_correct_it(
    command: str, hint: str, command_line: Any, trial: Any
) -> None:
    done = command_line("sweep", trial(command), "--local", "--name", "one", expect=1)
    assert hint in " ".join(done.stderr.split())


def test_each_workload_starts_with_one_run(command_line: Any, trial: Any) -> None:
    file = trial("exit {{ code }}", matrix={"code": [0, 1], "cpus_per_task": [1], "seed": [1, 2, 3]})
    done = command_line("sweep", file, "--local", expect=1)
    assert "stopped, because the first run failed" in done.stderr
    assert len(command_line.records()) <= 2


def test_without_it_all_runs_start(command_line: Any, trial: Any) -> None:
    done = command_line("sweep", trial("exit 3"), "--local", "--no-fail-fast", expect=1)
    assert "stopped" not in done.stderr
    assert len(command_line.records()) == 2


def test_a_number_of_failures_stops_the_sweep(command_line: Any, trial: Any) -> None:
    file = trial("exit {{ code }}", matrix={"code": [0, 1, 2, 3, 4]}, same_workload=["code"])
    done = command_line("sweep", file, "--local", "--no-fail-fast", "--max-failures", "2", expect=1)
    assert "stopped, because 2 runs failed (--max-failures 2)" in done.stderr
    assert sum(record["status"] == "failed" for record in command_line.records()) == 2
