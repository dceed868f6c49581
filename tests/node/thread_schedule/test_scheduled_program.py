"""The example of a program that finds a schedule and follows it, as a user runs it."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hpcbench.util.package_data import PACKAGE

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: the example of a schedule in a program")

from hpcbench.node.thread_schedule import FORWARD, Schedule, Section, fingerprint, write  # noqa: E402

PROGRAM = PACKAGE.parent / "configs" / "programs" / "scheduled.py"


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(PROGRAM), *arguments]
    variables = {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    return subprocess.run(words, capture_output=True, text=True, env=variables, timeout=120, check=False)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A schedule of the program's model with four hidden units."""
    model = runpy.run_path(str(PROGRAM))["Tagger"](4)
    sections = tuple(Section(name, FORWARD, 1) for name, _ in model.named_children())
    write(Schedule(fingerprint(model), sections, {}), str(tmp_path / "schedule.json"))
    return str(tmp_path / "schedule.json")


def test_it_times_both_ways_and_leaves_the_threads_as_they_were(file: str) -> None:
    done = program(file, "--hidden", "4")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["threads"] == 1
    assert min(told["plain_s"], told["scheduled_s"]) > 0


def test_it_ends_with_the_reason_where_the_schedule_is_of_another_model(file: str) -> None:
    done = program(file, "--hidden", "8")
    assert done.returncode == 1
    assert "cannot be applied: it belongs to another model: modules or shapes differ" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_finds_a_schedule_or_says_why_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    done = program(str(file), "--find", "--hidden", "4", "--budget", "0.2")
    assert done.returncode == 0, done.stderr
    assert ("times as fast as" if file.exists() else "threads for all sections: ") in done.stdout
