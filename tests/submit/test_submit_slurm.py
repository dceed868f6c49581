from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.errors import UserError
from hpcbench.submit import slurm
from hpcbench.submit.journal import Journal, Submission
from hpcbench.submit.sweep import Sweep

Fake = Callable[..., Path]
MakeSweep = Callable[..., Sweep]
OTHERS = {"srun": "exit 0", "squeue": "exit 0", "scancel": "exit 0"}
TWO_JOBS = "matrix: {cpus_per_task: [1, 2]}\n"
JOBS = [("job-001", (0, 1, 2)), ("job-002", (0, 1, 2))]


def states(sweep: Sweep) -> list[tuple[str, str | None, bool]]:
    return [(s.job, s.slurm_id, s.rejected) for s in Journal.read(sweep.paths.journal).submissions]


@pytest.mark.parametrize("answer", ["42", "42;cluster", "Welcome to the cluster!\nProject 7 expires in 3 days\n42"])
def test_the_id_is_found_in_what_sbatch_says_with_fake_slurm_commands(
    answer: str, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(sbatch=f"cat <<'END'\n{answer}\nEND", **OTHERS)
    sweep = make_sweep("slurm: {max_running: 2}")
    slurm.submit(sweep, [("job-001", (0, 2))], Journal(sweep.paths.journal))
    (submission,) = Journal.read(sweep.paths.journal).submissions
    assert (submission.slurm_id, submission.elements) == ("42", (0, 2))
    assert (folder / "sbatch.called").read_text().split() == [
        "--parsable",
        f"--job-name=study-1.job-001.{submission.token}",
        "--array=0,2%2",  # an --array on the command line drops the throttle of the script's own
        str(sweep.paths.script("job-001")),
    ]


def test_an_intent_is_on_disk_before_sbatch_is_called_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    sweep = make_sweep(TWO_JOBS)
    folder = fake_commands(sbatch=f'cat "{sweep.paths.journal}" >> seen; echo >> seen; echo 42', **OTHERS)
    slurm.submit(sweep, JOBS, Journal(sweep.paths.journal))
    before = [part.splitlines() for part in (folder / "seen").read_text().strip().split("\n\n")]
    assert [[json.loads(line)["event"] for line in part] for part in before] == [
        ["submitting"],
        ["submitting", "submitted", "submitting"],
    ]


def test_the_words_of_an_sbatch_that_fails_are_shown_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep, capfd: pytest.CaptureFixture[str]
) -> None:
    said = "sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed"
    fake_commands(sbatch=f"cat <<'END' >&2\n{said}\nEND\nexit 1", **OTHERS)
    sweep = make_sweep(TWO_JOBS)
    with pytest.raises(UserError) as caught:
        slurm.submit(sweep, JOBS, Journal(sweep.paths.journal))
    message = str(caught.value)
    assert "sbatch refused job-001: invalid partition specified: nope Batch job submission failed" in message
    assert "hpcbench resume study-1" in message
    # The second was not tried, and the first is still looked for: after a time-out Slurm may have it.
    assert states(sweep) == [("job-001", None, False)]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("answer", ["", "echo 'Submitted, thank you'", "echo 42; echo bye"])
def test_an_sbatch_that_names_no_id_is_a_refusal_with_fake_slurm_commands(
    answer: str, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(sbatch=answer, **OTHERS)
    sweep = make_sweep()
    with pytest.raises(UserError, match="sbatch"):
        slurm.submit(sweep, JOBS[:1], Journal(sweep.paths.journal))


def test_variables_of_the_login_shell_do_not_reach_sbatch_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_commands(sbatch="env > seen; echo 42", **OTHERS)
    for name in ("SBATCH_PARTITION", "SBATCH_ARRAY_INX", "SLURM_JOB_ID", "SLURM_CPUS_PER_TASK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("MY_OWN", "kept")
    sweep = make_sweep()
    slurm.submit(sweep, JOBS[:1], Journal(sweep.paths.journal))
    seen = (folder / "seen").read_text()
    assert "SBATCH_" not in seen
    assert [line for line in seen.splitlines() if line.startswith("SLURM_")] == ["SLURM_CONF=/etc/slurm/slurm.conf"]
    assert "MY_OWN=kept" in seen


def test_what_was_submitted_before_an_interrupt_is_known_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(sbatch="echo 42", **OTHERS)
    sweep = make_sweep(TWO_JOBS)

    def interrupt(job: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        slurm.submit(sweep, JOBS, Journal(sweep.paths.journal), interrupt)
    assert states(sweep) == [("job-001", "42", False)]


@pytest.mark.parametrize("missing", ["sbatch", *OTHERS])
def test_nothing_is_submitted_where_a_slurm_command_is_missing_with_fake_slurm_commands(
    missing: str, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    commands = {"sbatch": "echo 42", **OTHERS}
    del commands[missing]
    fake_commands(**commands)
    sweep = make_sweep()
    with pytest.raises(UserError, match=f"{missing} was not found"):
        slurm.submit(sweep, JOBS[:1], Journal(sweep.paths.journal))
    assert states(sweep) == []


ORPHAN = Submission("ab12", "job-001", (0, 1))


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ({"squeue": "echo 42", "sacct": "exit 1"}, ("job-001", "42", False)),
        ({"squeue": "exit 0", "sacct": "echo 43_0"}, ("job-001", "43", False)),
        (
            {"squeue": "exit 0", "sacct": "echo 'Slurm accounting storage is disabled' >&2; exit 1"},
            ("job-001", None, True),
        ),
    ],
    ids=["in the queue", "in the accounting", "never arrived"],
)
def test_a_submission_without_an_id_is_looked_for_by_name_with_fake_slurm_commands(
    commands: dict[str, str], expected: Any, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(**commands)
    sweep = make_sweep()
    journal = Journal(sweep.paths.journal)
    journal.submitting(ORPHAN)
    slurm.adopt_orphans(sweep.paths, Journal.read(sweep.paths.journal))
    assert states(sweep) == [expected]
    assert "--name=study-1.job-001.ab12" in (folder / "squeue.called").read_text()
    (folder / "squeue.called").unlink()
    slurm.adopt_orphans(sweep.paths, Journal.read(sweep.paths.journal))
    assert not (folder / "squeue.called").exists()  # it is no orphan any more


def test_an_orphan_is_left_alone_while_slurm_does_not_answer_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(squeue="exit 1", sacct="exit 1")
    sweep = make_sweep()
    journal = Journal(sweep.paths.journal)
    journal.submitting(ORPHAN)
    with pytest.raises(UserError, match="squeue failed"):
        slurm.adopt_orphans(sweep.paths, journal)
    assert states(sweep) == [("job-001", None, False)]


def test_cancel_cancels_every_array_with_fake_slurm_commands(fake_commands: Fake, make_sweep: MakeSweep) -> None:
    folder = fake_commands(scancel="exit 0")
    sweep = make_sweep()
    slurm.cancel(sweep.paths, {"42": "job-001", "43": "job-002"}, Journal(sweep.paths.journal))
    assert (folder / "scancel.called").read_text().split() == ["42", "43"]
    events = [json.loads(line) for line in sweep.paths.journal.read_text().splitlines()]
    assert [event["slurm_id"] for event in events] == ["42", "43"]


@pytest.mark.parametrize("commands", [{"scancel": "exit 1"}, {}])
def test_a_scancel_that_fails_is_told_with_fake_slurm_commands(
    commands: dict[str, str], fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(**commands)
    sweep = make_sweep()
    with pytest.raises(UserError, match="scancel 42 failed"):
        slurm.cancel(sweep.paths, {"42": "job-001"}, Journal(sweep.paths.journal))
