"""The example of a program that follows a schedule, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hpcbench.resources import PACKAGE

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: the example of a schedule in a program")

PROGRAM = PACKAGE.parent / "configs" / "programs" / "scheduled.py"


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(PROGRAM), *arguments]
    variables = {"PYTHONPATH": str(PACKAGE.parent), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    return subprocess.run(words, capture_output=True, text=True, env=variables, timeout=120, check=False)


def test_it_times_both_ways_and_leaves_the_threads_as_they_were(tmp_path: Path) -> None:
    done = program(str(tmp_path / "schedule.json"), "--make", "--hidden", "4")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["threads"] == 1
    assert min(told["plain_s"], told["scheduled_s"]) > 0


def test_it_ends_with_the_reason_where_the_schedule_is_of_another_model(tmp_path: Path) -> None:
    program(str(tmp_path / "schedule.json"), "--make", "--hidden", "4")
    done = program(str(tmp_path / "schedule.json"), "--hidden", "8")
    assert done.returncode == 1
    assert "cannot be applied: it was made for another model: modules or shapes differ" in done.stderr
