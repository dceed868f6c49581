"""Running one repetition on this machine: which of its records is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core.record import Interference, Record, RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import record_writer
from hpcbench.node.results.outcome import Outcome
from hpcbench.status.query import query
from hpcbench.status.run_local import run_repetition
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.local_executor import LocalExecutor

PARAMETERS = Parameters.model_validate({"framework": "pytorch", "model": "mlp"}).planned()
PLANNED = PlannedRun("0123456789ab", 0, 0, 0, PARAMETERS, {}, {"retries": 1})
DESCRIPTION = {
    "name": "sweep-1",
    "site": {"name": "laptop", "scheduler": "local"},
    "experiment": {"name": "study", "retry": {}},
    "hpcbench_version": "0.1.0",
    "git": None,
}


def attempt(number: int, status: str, judgement: str | None) -> Record:
    judged = None if judgement is None else Interference(judgement)
    outcome = Outcome("failed", None)
    made = record_writer.assemble(PLANNED, DESCRIPTION, RecordKey("job-1", 0, "job-1", number), [], outcome, 1.0, {})
    return replace(made, status=status, ended_at=f"2026-11-01T00:00:0{number}+00:00", interference=judged)


@pytest.mark.parametrize(
    ("attempts", "told"),
    [
        ([("completed", "interference"), ("completed", "clean")], 2),
        ([("completed", "interference"), ("failed", None)], 1),
        ([("completed", "interference"), ("completed", "interference")], 2),
    ],
)
def test_of_several_attempts_of_a_script_the_one_that_reports_use_is_told(
    tmp_path: Path, attempts: list[tuple[str, str | None]], told: int
) -> None:
    paths = Workspace(tmp_path).paths("sweep-1")
    paths.jobs.mkdir(parents=True)
    records = paths.local_records("job-1")
    records.parent.mkdir(parents=True)
    lines = [json.dumps(to_json(attempt(number, *ended))) for number, ended in enumerate(attempts, 1)]
    paths.script("job-1").write_text(f"cat >> '{records}' <<'END'\n" + "\n".join(lines) + "\nEND\n")
    paths.runs("job-1").write_text(PLANNED.as_line() + "\n")
    job = {"slurm": {"time": "1"}, "width": 1}
    sweep = Sweep(paths, {**DESCRIPTION, "jobs": {"job-1": job}})
    (run,) = query(sweep).runs
    with LocalExecutor(paths) as executor:
        kept, measured = run_repetition(sweep, run, executor)
    assert kept.attempt == told
    assert [each.attempt for each in measured] == list(range(1, len(attempts) + 1))
    (run,) = query(sweep).runs
    assert run.record is not None
    assert run.record.attempt == told
