"""Commands that only read: they show how a run without a record ended, say how that is saved, and write nothing."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.status.query import or_records, query
from hpcbench.status.reconcile import reconcile
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.workspace import Workspace
from tests.conftest import CommandLine
from tests.status.queued_sweep import Cluster, accounted, concluded, elements, queued

OTHERS_RUN = queued("0|RUNNING|None|n1", "2|RUNNING|None|n1")
LOST = accounted("1|NODE_FAIL|0:0|n1")
HINT = (
    "1 run ended without a record; save the outcome before Slurm forgets it: `hpcbench resume sweep-1` or "
    "`hpcbench status sweep-1 --watch`"
)


def content_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder, with its time of change and the hash of its content."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(folder.rglob("*"))
    }


def test_it_shows_what_reconcile_saves(cluster: Cluster) -> None:
    cluster.begin(3)
    cluster.log(1)
    seen = cluster.query(OTHERS_RUN, LOST)
    assert (concluded(seen), cluster.saved) == ([3], [])
    saved = cluster.reconcile(OTHERS_RUN, LOST)
    assert cluster.saved == [3]
    read = cluster.query(OTHERS_RUN, LOST)
    for progress in (seen, saved, read):
        run = progress.runs[3]
        assert (run.state, run.slurm_id, run.index, run.ended) == ("node_failure", "7", 1, True)
        assert run.reason.endswith("Slurm reports NODE_FAIL; its log ends: loading gcc")
        assert progress.counts() == {"pending": 5, "node_failure": 1}
        assert elements(progress.to_do()) == [3]


def test_a_warning_says_how_an_outcome_is_saved_until_it_is(cluster: Cluster) -> None:
    assert cluster.query(OTHERS_RUN, LOST).warnings == (HINT,)
    assert cluster.reconcile(OTHERS_RUN, LOST).warnings == ()
    assert cluster.query(OTHERS_RUN, LOST).warnings == ()


def test_what_had_no_turn_is_planned_before_and_after_the_others_are_saved(cluster: Cluster) -> None:
    cluster.begin(4)
    told = queued("0|PENDING|Priority|", "1|PENDING|Priority|"), accounted("2|NODE_FAIL|0:0|n1")
    for ask in (cluster.query, cluster.reconcile, cluster.query, cluster.reconcile):
        assert [run.state for run in ask(*told).runs[4:]] == ["node_failure", "planned"]
    assert cluster.saved == [4]


def test_it_writes_nothing(cluster: Cluster) -> None:
    scratch = cluster.begin(3)
    (scratch / "monitor-n1.jsonl").write_text("what it saw\n")
    before = content_of(cluster.sweep.paths.results), content_of(cluster.sweep.paths.jobs)
    cluster.query(OTHERS_RUN, LOST)
    assert (content_of(cluster.sweep.paths.results), content_of(cluster.sweep.paths.jobs)) == before
    cluster.reconcile(OTHERS_RUN, LOST)
    (kept,) = cluster.sweep.paths.results.rglob("*.gz")
    assert gzip.decompress(kept.read_bytes()) == b"what it saw\n"


@pytest.mark.parametrize("ask", [query, reconcile])
def test_if_slurm_gives_no_answer_only_the_records_count(cluster: Cluster, ask: Callable[..., object]) -> None:
    cluster.record(0)
    cluster.say()
    cluster.fake(squeue="echo Unable to contact slurm controller >&2; exit 1")
    with pytest.raises(UserError, match="Unable to contact"):
        ask(cluster.sweep)
    progress = or_records(ask, cluster.sweep)  # type: ignore[arg-type]
    assert [run.state for run in progress.runs] == ["completed", *5 * ["unknown"]]
    assert progress.warnings == ("squeue failed: Unable to contact slurm controller; only the records are counted",)


@pytest.fixture
def lost(command_line: CommandLine, fake_commands: Callable[..., Path]) -> CommandLine:
    """A workspace with a sweep of two runs, of which one failed with its node and has no record."""
    site = command_line.site("cluster", scheduler="slurm", limits={"record_delay_s": 0})
    given = ("--site", site, "--name", "lost", "--render-only")
    command_line("sweep", command_line.experiment(matrix={"seed": [1, 2]}), *given)
    paths = Workspace(command_line.workspace).paths("lost")
    packs.write(paths.packs("job-001.aa"), [(0,), (1,)])
    journal = Journal.read(paths)
    journal.submitting(Batch(paths, "job-001.aa"))
    journal.submitted(journal.batches[0], "7")
    (paths.running("job-001.aa") / "0-8-0-1").mkdir(parents=True)
    paths.log("job-001.aa", 0, "7").parent.mkdir(parents=True)
    paths.log("job-001.aa", 0, "7").write_text("loading gcc\n")
    fake_commands(
        squeue=f"echo '{queued('1|PENDING|Priority|')}'",
        sacct=f"echo '{accounted('0|NODE_FAIL|0:0|n1')}'",
    )
    return command_line


def test_commands_that_read_leave_the_workspace_as_it_was(lost: CommandLine) -> None:
    lost("sweep", "trial.yaml", "--site", "cluster-site.yaml", "--name", "other", "--render-only")
    folders = [lost.workspace / name for name in ("jobs", "results")]
    before = [content_of(folder) for folder in folders]
    for command in (
        ("status", "lost"),
        ("status", "lost", "--json"),
        ("report", "lost"),
        ("report", "lost", "--csv", "-"),
        ("show", "lost", "case_index=0"),
        ("compare", "lost", "other"),
    ):
        done = lost(*command, expect=None)
        assert [content_of(folder) for folder in folders] == before, command
        assert "1 run ended without a record" in done.stderr, command
        assert "`hpcbench resume lost` or `hpcbench status lost --watch`" in done.stderr, command


def test_status_and_report_show_how_it_ended_and_watching_saves_it(
    lost: CommandLine, fake_commands: Callable[..., Path]
) -> None:
    assert json.loads(lost("status", "lost", "--json").stdout)["states"] == {"pending": 1, "node_failure": 1}
    assert "Slurm reports NODE_FAIL; its log ends: loading gcc" in lost("status", "lost").stdout
    assert [row["status"] for row in lost.report("lost", expect=1)] == ["node_failure", "pending"]
    assert lost.records() == []
    both = f"{accounted('0|NODE_FAIL|0:0|n1')}\n{accounted('1|CANCELLED by 0|0:0|')}"
    fake_commands(squeue="exit 0", sacct=f"echo '{both}'")
    lost("status", "lost", "--watch", expect=1)
    assert [record["status"] for record in lost.records()] == ["node_failure", "cancelled"]
    assert lost("status", "lost").stderr == ""


@pytest.mark.parametrize("command", [("resume", "lost", "--missing"), ("cancel", "lost")], ids=" ".join)
def test_commands_that_may_write_save_the_outcome(
    lost: CommandLine, fake_commands: Callable[..., Path], command: tuple[str, ...]
) -> None:
    fake_commands(sacct=f"echo '{accounted('0|TIMEOUT|0:0|n1')}'", sbatch="exit 1", srun="exit 1", scancel="exit 0")
    done = lost(*command)
    assert [record["status"] for record in lost.records()] == ["timeout"]
    assert "warning" not in done.stderr
    assert lost("status", "lost").stderr == ""


def test_an_outcome_that_cannot_be_saved_is_told(lost: CommandLine, fake_commands: Callable[..., Path]) -> None:
    fake_commands(sacct=f"echo '{accounted('0|TIMEOUT|0:0|n1')}'", sbatch="exit 1", srun="exit 1", scancel="exit 0")
    (lost.workspace / "results" / "lost" / "records").write_text("a file where the folder should be")
    for command in (("resume", "lost", "--missing"), ("cancel", "lost")):
        assert "warning: 1 outcome not saved: " in lost(*command).stderr


def test_an_archive_has_the_outcome_too(lost: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "lost.tar.gz"
    assert "the sweep has not ended" in lost("archive", "lost", "-o", str(file)).stderr
    assert [record["status"] for record in lost.records()] == ["node_failure"]
    assert [row["status"] for row in lost.report(str(file), expect=1)] == ["node_failure", "unknown"]
