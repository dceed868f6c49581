"""Clocks that a killed guard has left changed, in a copy of the files of cpufreq."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.clocks import leftovers
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from tests.node.clocks import cpufreq_tree
from tests.node.conftest import SweepFolder

BEFORE = ("800000", "2500000")
CHANGED = ("1560000", "1560000")


def written(folder: Path, control: FrequencyLimits) -> Iterator[Path]:
    """The note of this process on a clock that it has changed."""
    note = leftovers.write(str(folder), control.saved())
    control.apply(DeviceState(1560))
    yield Path(note.path)
    note.remove()


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Path]:
    """The note of a guard that still runs, on a clock that it has changed from BEFORE to CHANGED."""
    yield from written(tmp_path / "notes", FrequencyLimits(cpufreq_tree.make(tmp_path, [0])))


@pytest.fixture
def note(living: Path) -> Path:
    """The note of a guard that is gone: another file, without its lock."""
    copy = living.with_name("left.json")
    copy.write_text(living.read_text())
    living.unlink()
    return copy


def restore_left(tmp_path: Path) -> list[str]:
    return leftovers.restore_left(str(tmp_path / "notes"), str(tmp_path))


def change(note: Path, **changes: object) -> None:
    note.write_text(json.dumps({**json.loads(note.read_text()), **changes}))


def test_the_clock_of_a_guard_that_still_runs_is_left_to_it(tmp_path: Path, living: Path) -> None:
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert living.exists()


def test_the_lock_decides_also_in_another_pid_namespace(tmp_path: Path, living: Path) -> None:
    change(living, process=2**22 + 1)
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED


def test_two_guards_of_one_process_id_have_two_notes(tmp_path: Path) -> None:
    notes = [leftovers.write(str(tmp_path), {}) for _ in range(2)]
    assert len(list(tmp_path.iterdir())) == 2
    for note in notes:
        note.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_clock_of_a_guard_that_is_gone_is_restored(tmp_path: Path, note: Path) -> None:
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE
    assert not note.exists()


@pytest.mark.parametrize(
    ("changes", "is_restored"), [({}, False), ({"process": 2**22 + 1}, True), ({"started": "1"}, True)]
)
def test_without_locks_the_process_decides(
    tmp_path: Path, note: Path, changes: dict[str, object], is_restored: bool
) -> None:
    change(note, locked=False, **changes)
    assert restore_left(tmp_path) == []
    assert (cpufreq_tree.limits(tmp_path, 0) == BEFORE) == is_restored
    assert note.exists() != is_restored


def test_a_note_from_before_the_start_of_the_node_is_removed(tmp_path: Path, note: Path) -> None:
    change(note, boot="another")
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert not note.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", "[" * 100_000])
def test_a_note_that_cannot_be_read_is_named(tmp_path: Path, note: Path, text: str) -> None:
    note.write_text(text)
    (sentence,) = restore_left(tmp_path)
    assert sentence.startswith("an earlier profile has changed a clock that could not be restored: ")
    assert str(note) in sentence


@pytest.mark.parametrize(
    "limits",
    [
        {"0": ["800000; reboot", 2500000]},
        {"../../../planted": [1, 2]},
        {"/planted": [1, 2]},
        {"0/../../planted": [1, 2]},
        {"0": 3},
        ["planted"],
        None,
    ],
)
def test_a_planted_note_writes_numbers_to_limits_of_cpus_only(tmp_path: Path, note: Path, limits: object) -> None:
    (tmp_path / "planted").write_text("as before")
    (tmp_path / "planted/../sys/devices/system/cpu").resolve().mkdir(exist_ok=True, parents=True)
    change(note, saved={"method": "frequency limits", "root": str(tmp_path / "elsewhere"), "limits": limits})
    (sentence,) = restore_left(tmp_path)
    assert "could not be restored" in sentence
    assert (tmp_path / "planted").read_text() == "as before"
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert note.exists()


def test_the_root_in_a_note_does_not_count(tmp_path: Path, note: Path) -> None:
    saved = json.loads(note.read_text())["saved"]
    change(note, saved={**saved, "root": str(tmp_path / "elsewhere")})
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE


def test_a_pipe_in_place_of_a_note_does_not_block(tmp_path: Path, note: Path) -> None:
    note.unlink()
    os.mkfifo(note)
    (sentence,) = restore_left(tmp_path)
    assert "its note is not a file of this user" in sentence


def test_a_link_in_place_of_a_note_is_not_followed(tmp_path: Path, note: Path) -> None:
    target = note.rename(tmp_path / "target")
    note.symlink_to(target)
    (sentence,) = restore_left(tmp_path)
    assert "Too many levels of symbolic links" in sentence
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED


def test_a_note_that_only_another_user_can_open_is_no_failure_with_a_fake_open(
    tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    (sentence,) = restore_left(tmp_path)
    assert sentence == f"another user's profile may have changed a clock of this node ({note})"


def test_a_note_of_another_user_is_not_followed(tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    (sentence,) = restore_left(tmp_path)
    assert "its note is not a file of this user" in sentence
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED


def test_a_device_that_refuses_is_tried_again(tmp_path: Path, note: Path) -> None:
    path = tmp_path / (cpufreq_tree.FOLDER % 0) / "scaling_max_freq"
    path.unlink()
    path.mkdir()  # a write fails
    (sentence,) = restore_left(tmp_path)
    assert "scaling_max_freq: Is a directory" in sentence
    path.rmdir()
    path.touch()
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE


def test_without_notes_nothing_is_done(tmp_path: Path) -> None:
    assert leftovers.restore_left(str(tmp_path / "missing")) == []


def test_the_folder_is_that_of_the_node_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    assert leftovers.folder_of(str(tmp_path)) == str(tmp_path / "results" / ".clocks" / "n7")


@pytest.mark.integration
def test_after_sigkill_to_the_guard_the_next_task_restores_the_clock(tmp_path: Path, zipapp: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    notes = tmp_path / "notes"
    words = [sys.executable, str(zipapp), "restore-clocks", json.dumps(control.saved()), str(notes)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as guard:
        assert guard.stdout is not None
        assert guard.stdout.readline() == b"ready\n"
        control.apply(DeviceState(1560))
        os.kill(guard.pid, signal.SIGKILL)
        guard.wait(timeout=30)
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert restore_left(tmp_path) == []
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE
    assert list(notes.iterdir()) == []


@pytest.mark.integration
@pytest.mark.parametrize("is_refused", [False, True])
def test_each_run_restores_clocks_first_and_has_a_warning_if_that_fails(
    tmp_path: Path,
    zipapp: Path,
    make_planned: Callable[..., PlannedRun],
    fake_torch: Callable[[str], dict[str, str]],
    is_refused: bool,
) -> None:
    folder = tmp_path / "results" / ".clocks" / "n7"
    leftovers.write(str(folder), {"method": "frequency limits", "limits": {"99999": [1, 2]}})  # there is no such CPU
    (path,) = folder.iterdir()
    left = path.with_name("left.json")
    left.write_text(path.read_text())
    path.unlink()
    if not is_refused:
        change(left, boot="another")
    jobs = tmp_path / "jobs" / "sweep-1"
    jobs.mkdir(parents=True)
    run = SweepFolder(jobs, zipapp, make_planned())
    run.rank({**fake_torch("raise ImportError('no torch')"), "SLURMD_NODENAME": "n7"})
    warnings = run.rank_file()["warnings"]
    assert left.exists() == is_refused
    if is_refused:
        assert "an earlier profile has changed a clock that could not be restored: " in " ".join(warnings)
    else:
        assert warnings == []
