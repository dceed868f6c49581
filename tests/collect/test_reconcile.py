"""Records made later, of repetitions whose script could not write one."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.reconcile import reconcile, reconcile_local
from hpcbench.collect.records import Record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit.queue import QueueEntry
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import Workspace

SWEEP = {
    "name": "sweep-1",
    "experiment": {"name": "experiment-1"},
    "site": {"name": "laptop"},
    "hpcbench_version": "0.1.0",
    "git": None,
}


@pytest.fixture
def made(tmp_path: Path, make_planned: Callable[..., PlannedRun]) -> Callable[..., Record]:
    """The record of a repetition whose log is `text`; on Slurm, where a state is given."""

    def make(text: str, state: str | None = None) -> Record:
        sweep = Sweep(Workspace(tmp_path).paths("sweep-1"), SWEEP)
        slurm_id = "42" if state else None
        log = sweep.paths.log("job-001", 0, slurm_id)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
        if state is None or slurm_id is None:
            return reconcile_local(sweep, "job-001", 0, make_planned())
        return reconcile(sweep, "job-001", 0, make_planned(), slurm_id, QueueEntry(state, ended=True))

    return make


LMOD = """Loading gcc 12
Lmod has detected the following error: The following module(s) are unknown:
"foo/1.2"

Please check the spelling or version number.
hpcbench: gave up: module load foo/1.2 failed
"""


@pytest.mark.parametrize("state", [None, "FAILED"])
def test_a_script_that_gave_up_is_quoted_with_what_it_said_before(made: Callable[..., Any], state: str | None) -> None:
    record = made(LMOD, state)
    assert record["status"] == "failed"
    assert record["error"]["type"] == "setup"
    assert record["error"]["message"] == (
        "module load foo/1.2 failed: Loading gcc 12 Lmod has detected the following error: The following module(s) are "
        'unknown: "foo/1.2" Please check the spelling or version number.'
    )
    assert record["error"]["last_lines"] == LMOD.splitlines()


def test_of_much_that_was_said_the_end_is_quoted(made: Callable[..., Any]) -> None:
    message = made("x" * 5000 + " the end\nhpcbench: gave up: it failed\n")["error"]["message"]
    assert message.startswith("it failed: xxx")
    assert message.endswith("xxx the end")
    assert len(message) < 600


def test_a_script_that_gave_up_without_a_word_before_is_quoted_alone(made: Callable[..., Any]) -> None:
    record = made("hpcbench: gave up: there is no module command on n1\n")
    assert record["error"]["message"] == "there is no module command on n1"


def test_another_end_is_told_with_what_slurm_says_and_the_last_line(made: Callable[..., Any]) -> None:
    message = made("one\ntwo\n\n", "FAILED")["error"]["message"]
    assert message == "its job ended without leaving a record; Slurm says FAILED; its log ends: two"
    assert made("")["error"]["message"] == "its job ended without leaving a record"


def test_what_the_monitors_had_seen_until_the_job_died_is_kept(made: Callable[..., Any], tmp_path: Path) -> None:
    results = Workspace(tmp_path).paths("sweep-1").results
    scratch = results / "running" / "job-001-0-4711"
    scratch.mkdir(parents=True)
    (scratch / "monitor-n1.jsonl").write_text("what it saw\n")
    made("slurmstepd: error: *** JOB 42 ON n1 CANCELLED ***\n", "NODE_FAIL")
    (kept,) = (results / "timelines").rglob("*.gz")
    assert kept.relative_to(results) == Path("timelines/job-001/0-reconciled-n1.jsonl.gz")
    assert gzip.decompress(kept.read_bytes()) == b"what it saw\n"
    assert not scratch.exists()
