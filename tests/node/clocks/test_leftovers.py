"""Clocks that a killed guard has left changed, in a copy of the files of cpufreq."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.node.clocks import leftovers
from hpcbench.node.clocks.control import DeviceState
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from tests.node.clocks import cpufreq_tree
from tests.node.conftest import SweepFolder

BEFORE = ("800000", "2500000")
CHANGED = ("1560000", "1560000")


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """The note of this process on a clock that it has changed from BEFORE to CHANGED."""
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    path = leftovers.write(str(tmp_path / "notes"), control.saved())
    control.apply(DeviceState(1560))
    return Path(path)


def change(note: Path, **changes: object) -> None:
    note.write_text(json.dumps({**json.loads(note.read_text()), **changes}))


def test_the_clock_of_a_guard_that_still_runs_is_left_to_it(tmp_path: Path, note: Path) -> None:
    assert leftovers.restore_left(str(note.parent)) == []
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert note.exists()


@pytest.mark.parametrize("changes", [{"process": 2**22 + 1}, {"started": "1"}], ids=["ended", "another process"])
def test_the_clock_of_a_guard_that_is_gone_is_restored(tmp_path: Path, note: Path, changes: dict[str, object]) -> None:
    change(note, **changes)
    assert leftovers.restore_left(str(note.parent)) == []
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE
    assert not note.exists()


def test_a_note_from_before_the_start_of_the_node_is_removed(tmp_path: Path, note: Path) -> None:
    change(note, boot="another", process=2**22 + 1)
    assert leftovers.restore_left(str(note.parent)) == []
    assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert not note.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "3"])
def test_a_note_that_cannot_be_read_is_named(note: Path, text: str) -> None:
    note.write_text(text)
    (sentence,) = leftovers.restore_left(str(note.parent))
    assert sentence.startswith("an earlier profile has changed a clock that could not be restored: ")
    assert str(note) in sentence


def test_a_device_that_refuses_is_tried_again(tmp_path: Path, note: Path) -> None:
    change(note, started="1")
    path = tmp_path / (cpufreq_tree.FOLDER % 0) / "scaling_max_freq"
    path.unlink()
    path.mkdir()  # a write fails
    (sentence,) = leftovers.restore_left(str(note.parent))
    assert "scaling_max_freq: Is a directory" in sentence
    path.rmdir()
    path.touch()
    assert leftovers.restore_left(str(note.parent)) == []
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
    assert leftovers.restore_left(str(notes)) == []
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
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    note = Path(leftovers.write(str(tmp_path / "results" / ".clocks" / "n7"), control.saved()))
    change(note, started="1")
    control.apply(DeviceState(1560))
    if is_refused:
        path = tmp_path / (cpufreq_tree.FOLDER % 0) / "scaling_max_freq"
        path.unlink()
        path.mkdir()
    jobs = tmp_path / "jobs" / "sweep-1"
    jobs.mkdir(parents=True)
    folder = SweepFolder(jobs, zipapp, make_planned())
    folder.rank({**fake_torch("raise ImportError('no torch')"), "SLURMD_NODENAME": "n7"})
    warnings = folder.rank_file()["warnings"]
    if is_refused:
        assert "an earlier profile has changed a clock that could not be restored: " in " ".join(warnings)
    else:
        assert warnings == []
        assert cpufreq_tree.limits(tmp_path, 0) == BEFORE
