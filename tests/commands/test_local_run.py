"""Running one repetition on this machine: which of its records is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hpcbench.collect.survey import survey
from hpcbench.commands.local_run import run_repetition
from hpcbench.node.planned import PlannedRun
from hpcbench.node.record import SCHEMA
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import Workspace

SITE = {"scheduler": "local"}
MEASURE = {"retries": 1}


def attempt(number: int, status: str, verdict: str | None) -> dict[str, Any]:
    judged = None if verdict is None else {"verdict": verdict, "found": []}
    measured = {"schema": SCHEMA, "status": status, "attempt": number, "ended_at": f"2026-11-01T00:00:0{number}"}
    case = {
        "job": "job-1",
        "element": 0,
        "batch": "job-1",
        "case_id": "0123456789ab",
        "repetition": 0,
        "parameters": {},
    }
    return {**case, **measured, "interference": judged, "slurm": {}, "error": None, "nodes": []}


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([("completed", "disturbed"), ("completed", "clean")], 2),
        ([("completed", "disturbed"), ("failed", None)], 1),
        ([("completed", "disturbed"), ("completed", "disturbed")], 2),
    ],
)
def test_of_several_attempts_of_a_script_the_one_that_reports_use_is_told(
    tmp_path: Path, attempts: list[tuple[str, str | None]], told: int
) -> None:
    paths = Workspace(tmp_path).paths("sweep-1")
    paths.jobs.mkdir(parents=True)
    records = paths.local_records("job-1")
    records.parent.mkdir(parents=True)
    lines = [json.dumps(attempt(number, *ended)) for number, ended in enumerate(attempts, 1)]
    paths.script("job-1").write_text(f"cat >> '{records}' <<'END'\n" + "\n".join(lines) + "\nEND\n")
    planned = PlannedRun("0123456789ab", 0, 0, 0, {}, {}, MEASURE)
    paths.runs("job-1").write_text(planned.as_line() + "\n")
    job = {"slurm": {"time": "1"}, "width": 1}
    sweep = Sweep(paths, {"name": "sweep-1", "site": SITE, "experiment": {"retry": {}}, "jobs": {"job-1": job}})
    (run,) = survey(sweep).runs
    record, times = run_repetition(sweep, run)
    assert (record["attempt"], times) == (told, len(attempts))
    (run,) = survey(sweep).runs
    assert run.record is not None
    assert run.record["attempt"] == told
