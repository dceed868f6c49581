from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store import packs
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util import bounded_read


@pytest.fixture
def paths(tmp_path: Path) -> SweepPaths:
    found = Workspace(tmp_path).paths("study-1")
    found.jobs.mkdir(parents=True)
    return found


def test_a_journal_reads_as_it_was_written(paths: SweepPaths) -> None:
    journal = Journal(paths)
    first, second, third = (Batch(paths, name) for name in ("job-001.aa", "job-002.bb", "job-002.cc"))
    journal.submitting(first)
    journal.submitted(first, "123")
    journal.submitting(second)
    journal.rejected(second, 'no: "such" partition\nnowhere')
    journal.submitting(third)
    journal.cancelled("123")
    assert journal.batches == [replace(first, slurm_id="123"), replace(second, rejected=True), third]
    assert journal.accepted == [replace(first, slurm_id="123"), third]
    assert Journal.read(paths) == journal


def test_since_when_slurm_does_not_know_a_job_is_kept_and_the_earliest_time_counts(paths: SweepPaths) -> None:
    journal = Journal(paths)
    journal.unknown_to_slurm("7", [3, 0, 1])
    first = Journal.read(paths).unknown_since
    assert first.keys() == {"7"}
    assert first["7"].keys() == {0, 1, 3}
    journal.unknown_to_slurm("7", [1, 2])
    later = Journal.read(paths).unknown_since["7"]
    assert later.keys() == {0, 1, 2, 3}
    assert later[1] == first["7"][1]


@pytest.mark.parametrize("event", [{"indices": "x"}, {"at": "soon", "indices": "1"}, {"at": 7, "indices": "1"}, {}])
def test_a_damaged_time_of_an_unknown_job_is_ignored(paths: SweepPaths, event: dict[str, object]) -> None:
    paths.journal.write_text(json.dumps({"event": "unknown to Slurm", "slurm_id": "7", **event}) + "\n")
    assert Journal.read(paths).unknown_since == {}


def test_a_sweep_belongs_to_the_cluster_of_its_first_batch(paths: SweepPaths) -> None:
    journal = Journal(paths)
    assert journal.cluster is None
    journal.submitting(Batch(paths, "job-001.aa", cluster="here"))
    journal.submitting(Batch(paths, "job-001.bb", cluster="there"))
    assert Journal.read(paths).cluster == "here"
    paths.journal.write_text('{"event": "submitting", "batch": "job-001.aa", "cluster": 7}\n')
    assert Journal.read(paths).cluster is None


@pytest.mark.parametrize(
    "name", ["/dev/zero", "../../other", "job-001/../x", "", ".", "..", "a b", "-x", "job-001\n", 7, ["x"]]
)
@pytest.mark.parametrize("kind", ["submitting", "submitted", "rejected"])
def test_a_batch_whose_name_could_lead_elsewhere_is_refused(paths: SweepPaths, kind: str, name: object) -> None:
    paths.journal.write_text(json.dumps({"event": kind, "batch": name, "slurm_id": "7"}) + "\n")
    with pytest.raises(UserError, match="invalid name or job ID"):
        Journal.read(paths)


@pytest.mark.parametrize("slurm_id", ["../../x", "7 --all", "", 7, None])
def test_an_id_that_is_none_of_slurm_is_refused(paths: SweepPaths, slurm_id: object) -> None:
    Journal(paths).submitting(Batch(paths, "job-001.aa"))
    with paths.journal.open("a") as file:
        file.write(json.dumps({"event": "submitted", "batch": "job-001.aa", "slurm_id": slurm_id}) + "\n")
    with pytest.raises(UserError, match="invalid name or job ID"):
        Journal.read(paths)


def test_an_event_that_is_nested_too_deeply_is_ignored(paths: SweepPaths) -> None:
    paths.journal.write_text("[" * 200_000 + "\n")
    assert Journal.read(paths).batches == []


def test_packs_that_are_larger_than_any_are_refused(paths: SweepPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_read, "MAX_BYTES", 10)
    packs.write(paths.packs("job-001"), [(1, 2, 3, 4, 5, 6)])
    with pytest.raises(UserError, match="it is larger than"):
        packs.read(paths.packs("job-001"))


@pytest.mark.parametrize("target", ["target", "nothing"])
def test_symbolic_links_of_other_users_are_not_followed(target: str, paths: SweepPaths) -> None:
    (paths.jobs / "target").write_text("kept")
    paths.journal.symlink_to(paths.jobs / target)
    with pytest.raises(OSError, match="symbolic links"):
        Journal(paths).cancelled("123")
    assert (paths.jobs / "target").read_text() == "kept"
    assert not (paths.jobs / "nothing").exists()


def test_a_batch_is_named_after_its_job_and_found_in_slurm_by_a_name_of_its_own(paths: SweepPaths) -> None:
    batch = Batch(paths, "job-001.aa")
    assert (batch.job, batch.slurm_name) == ("job-001", "study-1.job-001.aa")
    packs.write(paths.packs("job-001.aa"), [(0, 2), (1,)])
    assert batch.packs == ((0, 2), (1,))


def test_a_batch_is_of_the_user_who_submitted_it(paths: SweepPaths) -> None:
    journal = Journal(paths)
    journal.submitting(Batch(paths, "job-001.aa"))
    journal.submitting(Batch(paths, "job-001.bb", uid=os.getuid() + 1))
    assert [batch.ours for batch in Journal.read(paths).batches] == [True, False]


def test_every_event_is_a_line_of_json_with_a_time(paths: SweepPaths) -> None:
    journal = Journal(paths)
    batch = Batch(paths, "job-001.aa")
    journal.submitting(batch)
    journal.submitted(batch, "123")
    events = [json.loads(line) for line in paths.journal.read_text().splitlines()]
    assert [event["event"] for event in events] == ["submitting", "submitted"]
    assert all("at" in event for event in events)
    assert [event["batch"] for event in events] == ["job-001.aa", "job-001.aa"]


def test_secrets_stay_out_of_what_sbatch_said_and_ids_stay_what_they_are(
    paths: SweepPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PASSWORD", "123456")
    journal = Journal(paths)
    batch = Batch(paths, "job-001.aa")
    journal.submitting(batch)
    journal.submitted(batch, "1234567")
    journal.rejected(batch, "no such token: 123456")
    events = [json.loads(line) for line in paths.journal.read_text().splitlines()]
    assert (events[1]["slurm_id"], events[2]["reason"]) == ("1234567", "no such token: [redacted]")
    assert Journal.read(paths).batches[0].slurm_id == "1234567"


def test_a_sweep_without_a_journal_has_no_batches(paths: SweepPaths) -> None:
    assert Journal.read(paths).batches == []


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_line_that_a_death_cut_off_is_ignored_and_does_not_swallow_the_next(cut: int, paths: SweepPaths) -> None:
    journal, batch, path = Journal(paths), Batch(paths, "job-001.aa"), paths.journal
    journal.submitting(batch)
    whole = path.read_bytes()
    journal.submitted(batch, "123")
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:-cut])
    read = Journal.read(paths)
    assert read.batches[0].slurm_id == ("123" if cut == 1 else None)  # 1: only the line break is missing
    read.submitted(batch, "456")
    assert Journal.read(paths).batches == [replace(batch, slurm_id="456")]


def test_a_full_disk_leaves_the_journal_as_it_was(paths: SweepPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faked at fsync: NFS tells only then."""
    journal = Journal(paths)
    journal.submitting(Batch(paths, "job-001.aa"))
    before = paths.journal.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journal.submitted(journal.batches[0], "123")
    assert paths.journal.read_bytes() == before


def test_bytes_that_are_no_text_spoil_only_their_line(paths: SweepPaths) -> None:
    batch = Batch(paths, "job-001.aa")
    Journal(paths).submitting(batch)
    paths.journal.write_bytes(paths.journal.read_bytes() + b"\xff\x00{\n[1]\n8\n")
    assert Journal.read(paths).batches == [batch]
