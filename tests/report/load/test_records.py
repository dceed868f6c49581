"""Records as reports read them, with what Slurm has counted of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.core import status
from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.results import record_writer as node_record
from hpcbench.node.results.outcome import Outcome
from hpcbench.report.load.records import latest_records, surveyed
from hpcbench.slurm.states import PENDING
from hpcbench.status.progress import PLANNED, UNKNOWN
from hpcbench.status.query import query
from hpcbench.store.sweep import SCHEMA, load
from hpcbench.store.workspace import SweepPaths, Workspace

Fake = Callable[..., Path]
SWEEP = {
    "schema": SCHEMA,
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "experiment": {"name": "experiment-1", "retry": {}},
    "site": {"name": "cluster", "scheduler": "slurm"},
    "git": None,
}
RANK = {
    **dict.fromkeys(("exit_code", "signal", "stopped_by")),
    "rank": 0,
    "host": "n1",
    "facts": {
        "measurements": {"times_s": [1.0], "windows": [[0.0, 1.0, 1]], "steps_per_measurement": 1, "first_step_s": 1.0},
        "warnings": [],
    },
    "node": {"hostname": "n1"},
    "started_at": 0.0,
    "ended_at": 1.0,
}


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., SweepPaths]:
    """A sweep with a run for each of `jobs`: the jobs of Slurm that have measured it, one after another, and
    `packed` of them in each."""

    def make(*jobs: str, exclusive: bool = True, packed: int = 1) -> SweepPaths:
        paths = Workspace(tmp_path).paths("sweep-1")
        paths.jobs.mkdir(parents=True)
        paths.description.write_text(
            json.dumps({**SWEEP, "jobs": {"job-1": {"slurm": {"exclusive": exclusive}, "width": 1}}})
        )
        parameters = Parameters(framework="pytorch", model="mlp").planned()
        runs = [PlannedRun(f"{case:012x}", case, 0, case, parameters, {}, {}) for case in range(len(jobs))]
        paths.runs("job-1").write_text("".join(run.as_line() + "\n" for run in runs))
        for run, ids in zip(runs, jobs, strict=True):
            for attempt, slurm_id in enumerate(ids.split(), 1):
                slurm = {"SLURM_ARRAY_JOB_ID": slurm_id, "SLURM_ARRAY_TASK_ID": str(run.order // packed)}
                outcome = Outcome(status.COMPLETED, None)
                place = RecordKey("job-1", run.order, "job-1.aa", attempt)
                made = node_record.assemble(run, SWEEP, place, [RANK], outcome, 1.0, slurm)
                node_record.append(made, str(paths.records / "job-1.aa" / f"{slurm_id}_{run.order // packed}.jsonl"))
        return paths

    return make


def test_what_slurm_has_counted_is_put_to_the_records_with_a_fake_sacct(
    measured: Callable[..., SweepPaths], fake_commands: Fake
) -> None:
    fake_commands(squeue="exit 0", sacct="echo '7_0.0|4100'; echo '7_1.0|0'")
    records = latest_records(measured("7", "7"))
    assert [record.energy_slurm_j for record in records] == [4100, None]


def test_of_several_attempts_in_one_job_slurms_counter_is_nobodys_with_a_fake_sacct(
    measured: Callable[..., SweepPaths], fake_commands: Fake
) -> None:
    """A job of its own for each attempt is told apart."""
    fake_commands(squeue="exit 0", sacct="echo '7_0.0|4100'; echo '7_0.1|5100'; echo '8_1.0|3000'; echo '7_1.0|9000'")
    twice, anew = latest_records(measured("7 7", "7 8"))
    assert twice.energy_slurm_j is None
    assert str(twice.energy_slurm_reason).startswith("the job has 2 measured runs")
    assert (anew.energy_slurm_j, anew.attempts) == (3000, 2)
    assert anew.energy_slurm_reason is None


def test_of_a_pack_slurms_counter_is_nobodys_with_a_fake_sacct(
    measured: Callable[..., SweepPaths], fake_commands: Fake
) -> None:
    fake_commands(squeue="exit 0", sacct="echo '7_0.0|4100'; echo '7_0.1|5100'; echo '7_1.0|3000'")
    *shared, alone = latest_records(measured("7", "7", "7", packed=2))
    assert [record.energy_slurm_j for record in shared] == [None, None]
    assert all(str(record.energy_slurm_reason).startswith("the job has 2 measured runs") for record in shared)
    assert alone.energy_slurm_j == 3000


def test_nodes_that_others_may_have_used_have_no_energy_by_slurm_with_a_fake_sacct(
    measured: Callable[..., SweepPaths], fake_commands: Fake
) -> None:
    fake_commands(squeue="exit 0", sacct="echo '7_0.0|4100'")
    (record,) = latest_records(measured("7 7", exclusive=False))
    assert (record.energy_slurm_j, record.energy_slurm_reason) == (None, None)


def test_where_slurm_does_not_answer_the_records_are_read_without_with_a_fake_sacct(
    measured: Callable[..., SweepPaths], fake_commands: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_commands(squeue="exit 0", sacct="echo 'no route to host' >&2; exit 1")
    (record,) = latest_records(measured("7"))
    assert (record.status, record.energy_slurm_j) == ("completed", None)
    assert "no route to host; energy by Slurm is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (PLANNED, "1 of 2 runs was not started"),
        (PENDING, "1 of 2 runs has not ended yet"),
        (UNKNOWN, "1 of 2 runs is in an unknown state"),
    ],
)
def test_what_is_unknown_is_not_said_to_run_with_a_fake_sacct(
    measured: Callable[..., SweepPaths],
    fake_commands: Fake,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    words: str,
) -> None:
    fake_commands(squeue="exit 0", sacct="exit 0")
    found = query(load(measured("7", "8")))
    lost = replace(found.runs[1], state=state, record=None, attempts=())
    monkeypatch.setattr(
        "hpcbench.report.load.records.or_records", lambda *_: replace(found, runs=(found.runs[0], lost))
    )
    surveyed(found.sweep.paths)
    told = capsys.readouterr().err
    assert words in told
    assert ("hpcbench status sweep-1" in told) == (state == UNKNOWN)
    assert ("has not ended yet" in told) == (state == PENDING)
