"""A run that looks for per-layer threads does so first, and is then the same task from its beginning."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: a run with per-layer threads")

TINY = {"input_size": 8, "hidden_size": 16, "layers": 2, "classes": 3}
TELL = """
import os, sys
with open(os.environ["STARTS"], "a") as file:
    file.write("%d %s %s\\n" % (os.getpid(), "--found-fd" in sys.orig_argv, os.environ.get("TAINTED")))

class Tainting:
    def find_spec(self, name, *rest):
        if name == "torch":
            os.environ["TAINTED"] = "by what was imported"

sys.meta_path.insert(0, Tainting())
"""


@pytest.fixture
def work(
    tmp_path: Path, zipapp: Path, clean_environment: dict[str, str], make_planned: Callable[..., Any]
) -> Callable[..., Any]:
    """Runs a task: what it found out, and the processes that it was, one after the other."""

    def start(**parameters: Any) -> tuple[dict[str, Any], list[list[str]]]:
        (tmp_path / "sitecustomize.py").write_text(TELL)
        (tmp_path / "job.jsonl").write_text(make_planned(model_options=TINY, **parameters).as_line() + "\n")
        told = {"STARTS": str(tmp_path / "starts"), "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)}
        read_end, write_end = os.pipe()
        words = [sys.executable, str(zipapp), "work", str(tmp_path / "job.jsonl"), "0", "--result-fd", str(write_end)]
        process = subprocess.Popen(words, env={**clean_environment, **told}, pass_fds=(write_end,))
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            facts = json.load(pipe)
        assert process.wait() == (0 if facts["status"] == "completed" else 1)
        starts = [line.split(" ", 2) for line in (tmp_path / "starts").read_text().splitlines()]
        assert {pid for pid, *_ in starts} == {str(process.pid)}
        return facts, [rest for _, *rest in starts]

    return start


def test_the_search_is_over_before_the_process_that_is_measured_begins(work: Callable[..., Any]) -> None:
    facts, starts = work(threads="dynamic", task="inference")
    assert facts["status"] == "completed", facts["error"]
    assert facts["dynamic"]["search_steps"] > 0
    assert facts["measurements"]["times_s"]
    assert [found for found, _ in starts] == ["False", "True"]
    assert [tainted for _, tainted in starts] == ["None", "None"]


def test_a_search_that_cannot_be_is_the_outcome(work: Callable[..., Any]) -> None:
    facts, starts = work(threads="dynamic", task="inference", intra_op_threads=4096)
    assert facts["status"] == "unsupported"
    assert facts["error"]["message"].startswith("intra_op_threads: 4096 threads, and this process may use ")
    assert len(starts) == 1


def test_other_tasks_start_once(work: Callable[..., Any]) -> None:
    facts, starts = work(task="inference")
    assert (facts["status"], facts["dynamic"], len(starts)) == ("completed", None, 1)
