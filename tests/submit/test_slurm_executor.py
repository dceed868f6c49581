from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.errors import UserError
from hpcbench.store.journal import Batch, Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.submit import slurm_executor
from hpcbench.submit.slurm_executor import Array
from tests.status.queued_sweep import queued

Fake = Callable[..., Path]
MakeSweep = Callable[..., Sweep]
OTHERS = {"srun": "exit 0", "squeue": "exit 0", "scancel": "exit 0"}
TWO_JOBS = "matrix: {cpus_per_task: [1, 2]}\n"
IN_QUEUE = f"echo '{queued('0|RUNNING|None|n1', name='study-1.job-001.ab12', array='42')}'"
FIRST, SECOND = Array("job-001", ((0,), (1,), (2,))), Array("job-002", ((0, 1), (2,)), "0:20:00")


def submit(sweep: Sweep, *arrays: Array) -> None:
    journal = Journal(sweep.paths)
    with locked(sweep.paths.jobs) as lease:
        for array in arrays:
            slurm_executor.submit(sweep, array, journal, lease)


def states(sweep: Sweep) -> list[tuple[str, str | None, bool]]:
    return [(batch.job, batch.slurm_id, batch.rejected) for batch in Journal.read(sweep.paths).batches]


@pytest.mark.parametrize(
    "answer",
    [
        "42",
        "42;cluster",
        "Welcome to the cluster!\nProject 7 expires in 3 days\n42",
        "42\nINFO: 12 of 100 hours of your budget are used",
        "Submitted batch job 42",
        "Submitted batch job 42 on cluster other",
        "Gr\udcfc\udcdfe vom Betrieb\n42",
    ],
)
def test_the_id_is_found_in_what_sbatch_says_with_fake_slurm_commands(
    answer: str, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(sbatch=f"cat <<'END'\n{answer}\nEND", **OTHERS)
    sweep = make_sweep("slurm: {max_running: 2}")
    submit(sweep, Array("job-001", ((0, 2), (1,))))
    (batch,) = Journal.read(sweep.paths).batches
    assert (batch.slurm_id, batch.packs) == ("42", ((0, 2), (1,)))
    assert (folder / "sbatch.called").read_text().split() == [
        "--parsable",
        f"--job-name=study-1.{batch.name}",
        "--array=0-1%2",  # an --array on the command line drops the throttle of the script's own
        f"--output={sweep.paths.logs(batch.name)}/%A_%a_0_log.out",
        str(sweep.paths.script("job-001")),
        batch.name,
    ]
    assert sweep.paths.logs(batch.name).is_dir(), "or Slurm could not write the log"


def test_packs_that_take_another_time_than_the_script_says_ask_for_it_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(sbatch="echo 42", **OTHERS)
    sweep = make_sweep(TWO_JOBS)
    submit(sweep, FIRST, SECOND)
    times = [word for word in (folder / "sbatch.called").read_text().split() if word.startswith("--time")]
    assert times == ["--time=0:20:00"]


def test_an_intent_is_on_disk_before_sbatch_is_called_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    sweep = make_sweep(TWO_JOBS)
    packs_are_there = f'for batch in "$@"; do :; done; cat "{sweep.paths.jobs}/packs/$batch" > packs || exit 1'
    seen = f'cat "{sweep.paths.journal}" >> seen; echo >> seen'
    folder = fake_commands(sbatch=f"{packs_are_there}; {seen}; echo 42", **OTHERS)
    submit(sweep, FIRST, SECOND)
    assert (folder / "packs").read_text() == "0 1\n2\n"
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
        submit(sweep, FIRST, SECOND)
    message = str(caught.value)
    assert "sbatch refused job-001: invalid partition specified: nope Batch job submission failed" in message
    assert "hpcbench resume study-1" in message
    assert states(sweep) == [("job-001", None, True)]  # the second was not tried
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "said",
    [
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
    ],
)
def test_after_words_that_leave_it_open_whether_slurm_has_a_job_it_is_still_looked_for_with_fake_slurm_commands(
    said: str, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(sbatch=f"echo '{said}' >&2; exit 1", **OTHERS)
    sweep = make_sweep()
    with pytest.raises(UserError, match="whether sbatch accepted job-001 is unknown"):
        submit(sweep, FIRST)
    assert states(sweep) == [("job-001", None, False)]


def test_a_refusal_for_too_many_jobs_leaves_nothing_but_the_journal_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    said = "AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy"
    fake_commands(sbatch=f"echo 'sbatch: error: {said}' >&2; exit 1", **OTHERS)
    sweep = make_sweep()
    with pytest.raises(slurm_executor.QueueFullError, match=r"jobs in the queue.* \(AssocMaxSubmitJobLimit\)"):
        submit(sweep, FIRST)
    assert states(sweep) == [("job-001", None, True)]
    assert [path.name for path in (sweep.paths.jobs / "packs").iterdir()] == ["job-001"]
    assert [path.name for path in (sweep.paths.jobs / "logs").iterdir()] == ["job-001"]


# The name of the job is that of the batch, which the journal has by then.
LISTS_IT = (
    'for batch in {jobs}/logs/job-001.*; do echo "'
    + queued("0|RUNNING|None|n1", name="study-1.${{batch##*/}}", array="42")
    + '"; done'
)


@pytest.mark.parametrize(("squeue", "expected"), [(LISTS_IT, ("job-001", "42", False)), ("", ("job-001", None, True))])
def test_an_sbatch_that_is_ended_while_it_tries_again_may_have_succeeded_with_fake_slurm_commands(
    squeue: str,
    expected: tuple[str, str | None, bool],
    fake_commands: Fake,
    make_sweep: MakeSweep,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm_executor, "SBATCH_LIMIT_S", 1)
    said = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying"
    sweep = make_sweep()
    lists = squeue.format(jobs=sweep.paths.jobs)
    folder = fake_commands(**{**OTHERS, "sbatch": f"echo '{said}' >&2; sleep 9", "squeue": lists, "sacct": "exit 0"})
    (folder / "timeout").symlink_to(str(shutil.which("timeout", path="/usr/bin:/bin")))
    with contextlib.suppress(slurm_executor.QueueFullError):
        submit(sweep, FIRST)
    assert states(sweep) == [expected]


@pytest.mark.parametrize("answer", ["", "echo 'Submitted, thank you'", "echo 42; echo 43"])
@pytest.mark.parametrize("is_listed", [True, False])
def test_if_sbatch_prints_no_clear_id_the_job_is_looked_for_at_once_with_fake_slurm_commands(
    answer: str, is_listed: bool, fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    sweep = make_sweep()
    lists = LISTS_IT.format(jobs=sweep.paths.jobs) if is_listed else "exit 0"
    fake_commands(**{**OTHERS, "sbatch": answer, "squeue": lists, "sacct": "exit 0"})
    if is_listed:
        submit(sweep, FIRST)
    else:
        with pytest.raises(UserError, match=r"whether sbatch accepted job-001 is unknown: no clear job ID"):
            submit(sweep, FIRST)
    assert states(sweep) == [("job-001", "42" if is_listed else None, False)]


def test_variables_of_the_login_shell_do_not_reach_sbatch_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_commands(sbatch="env > seen; echo 42", **OTHERS)
    for name in ("SBATCH_PARTITION", "SBATCH_ARRAY_INX", "SLURM_JOB_ID", "SLURM_CPUS_PER_TASK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("MY_OWN", "kept")
    sweep = make_sweep()
    submit(sweep, FIRST)
    seen = (folder / "seen").read_text()
    assert "SBATCH_" not in seen
    assert [line for line in seen.splitlines() if line.startswith("SLURM_")] == ["SLURM_CONF=/etc/slurm/slurm.conf"]
    assert "MY_OWN=kept" in seen


@pytest.mark.parametrize("missing", ["sbatch", "srun", "squeue", "scancel"])
def test_nothing_is_submitted_where_a_slurm_command_is_missing_with_fake_slurm_commands(
    missing: str, fake_commands: Fake
) -> None:
    commands = {"sbatch": "echo 42", **OTHERS}
    del commands[missing]
    fake_commands(**commands)
    with pytest.raises(UserError, match=f"{missing} not found"):
        slurm_executor.check_available(None, None)


@pytest.mark.parametrize("variable", ["SLURM_CLUSTERS", "SBATCH_CLUSTERS"])
def test_nothing_is_submitted_where_the_shell_asks_for_another_cluster_with_fake_slurm_commands(
    variable: str, fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_commands(sbatch="echo 42", **OTHERS)
    slurm_executor.check_available(None, None)
    monkeypatch.setenv(variable, "second")
    with pytest.raises(UserError, match=f"{variable} is set to second"):
        slurm_executor.check_available(None, None)


@pytest.fixture
def orphan(make_sweep: MakeSweep) -> Sweep:
    """A sweep whose hpcbench died between its intent to submit a batch and the id."""
    sweep = make_sweep(site="{}\nlimits: {record_delay_s: 2}\n")
    Journal(sweep.paths).submitting(Batch(sweep.paths, "job-001.ab12"))
    return sweep


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ({"squeue": IN_QUEUE, "sacct": "exit 1"}, ("job-001", "42", False)),
        ({"squeue": "exit 0", "sacct": f"echo '43_0|{os.getuid()}'"}, ("job-001", "43", False)),
        (
            {"squeue": "exit 0", "sacct": "echo 'Slurm accounting storage is disabled' >&2; exit 1"},
            ("job-001", None, True),
        ),
    ],
    ids=["in the queue", "in the accounting", "never arrived"],
)
def test_a_submission_without_an_id_is_looked_for_by_name_with_fake_slurm_commands(
    commands: dict[str, str], expected: Any, fake_commands: Fake, orphan: Sweep
) -> None:
    folder = fake_commands(**commands)
    slurm_executor.adopt_orphans(orphan, Journal.read(orphan.paths))
    assert states(orphan) == [expected]
    (folder / "squeue.called").unlink()
    slurm_executor.adopt_orphans(orphan, Journal.read(orphan.paths))
    assert not (folder / "squeue.called").exists()  # it is no orphan any more


@pytest.mark.parametrize(
    ("commands", "failed"),
    [({"squeue": "exit 1", "sacct": "exit 1"}, "squeue"), ({"squeue": "exit 0", "sacct": "exit 1"}, "sacct")],
)
def test_an_orphan_is_left_alone_while_slurm_does_not_answer_with_fake_slurm_commands(
    commands: dict[str, str], failed: str, fake_commands: Fake, orphan: Sweep
) -> None:
    fake_commands(**commands)
    with pytest.raises(UserError, match=f"{failed} failed"):
        slurm_executor.adopt_orphans(orphan, Journal.read(orphan.paths))
    assert states(orphan) == [("job-001", None, False)]


def test_an_orphan_that_an_old_answer_of_squeue_does_not_list_is_found_later_with_fake_slurm_commands(
    fake_commands: Fake, orphan: Sweep, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its job may run already: submitted again, it would run twice."""
    old = "for time in 1 2; do [ -e $time ] || { : > $time; exit 0; }; done"
    fake_commands(squeue=f"{old}\n{IN_QUEUE}", sacct="exit 0")
    slurm_executor.adopt_orphans(orphan, Journal.read(orphan.paths))
    assert states(orphan) == [("job-001", "42", False)]
    assert "whether Slurm accepted job-001.ab12 is unknown; waiting 2 s" in capfd.readouterr().err


def test_an_orphan_that_was_renamed_is_found_by_its_log_with_fake_slurm_commands(
    fake_commands: Fake, orphan: Sweep
) -> None:
    fake_commands(squeue="exit 0", sacct="exit 0")
    log = orphan.paths.logs("job-001.ab12") / "42_1_0_log.out"
    log.parent.mkdir(parents=True)
    log.touch()
    slurm_executor.adopt_orphans(orphan, Journal.read(orphan.paths))
    assert states(orphan) == [("job-001", "42", False)]


def test_an_orphan_of_somebody_else_whose_jobs_slurm_may_hide_is_left_alone_with_fake_slurm_commands(
    fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    folder = fake_commands(squeue="exit 0", sacct="exit 0")
    sweep = make_sweep()
    Journal(sweep.paths).submitting(Batch(sweep.paths, "job-001.ab12", uid=54321))
    with pytest.raises(UserError, match="the user with UID 54321 died while it submitted"):
        slurm_executor.adopt_orphans(sweep, Journal.read(sweep.paths))
    assert states(sweep) == [("job-001", None, False)]
    assert "--user=54321" in (folder / "squeue.called").read_text().split()
    fake_commands(squeue=IN_QUEUE.replace(f"|{os.getuid()}|", "|54321|"))
    slurm_executor.adopt_orphans(sweep, Journal.read(sweep.paths))
    assert states(sweep) == [("job-001", "42", False)]


def test_cancel_cancels_every_array_with_fake_slurm_commands(fake_commands: Fake, make_sweep: MakeSweep) -> None:
    folder = fake_commands(scancel="exit 0")
    sweep = make_sweep()
    slurm_executor.cancel(sweep, ["42", "43"], Journal(sweep.paths))
    assert (folder / "scancel.called").read_text().split() == ["42", "43"]
    events = [json.loads(line) for line in sweep.paths.journal.read_text().splitlines()]
    assert [event["slurm_id"] for event in events] == ["42", "43"]


@pytest.mark.parametrize("commands", [{"scancel": "exit 1"}, {}])
def test_a_scancel_that_fails_is_told_with_fake_slurm_commands(
    commands: dict[str, str], fake_commands: Fake, make_sweep: MakeSweep
) -> None:
    fake_commands(**commands)
    sweep = make_sweep()
    with pytest.raises(UserError, match="scancel"):
        slurm_executor.cancel(sweep, ["42"], Journal(sweep.paths))
