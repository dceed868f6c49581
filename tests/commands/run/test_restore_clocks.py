"""`hpcbench profile --restore-clocks` on a copy of the files of cpufreq."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.doctor import this_machine
from hpcbench.node.clocks import leftovers
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from tests.conftest import CommandLine
from tests.node.clocks import cpufreq_tree

COMMAND = ("profile", "--restore-clocks")
BEFORE, CHANGED = ("800000", "2500000"), ("1560000", "1560000")


@pytest.fixture
def running(
    invoke: CommandLine, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, Path]]:
    """The root of a node `n7` whose clock a profile of the workspace has changed, and the note of its guard."""
    root = tmp_path_factory.mktemp("root")
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    control = FrequencyLimits(cpufreq_tree.make(root, [0]))
    monkeypatch.setattr(this_machine, "this_system", lambda: cpufreq_tree.System([0], str(root)))
    note = leftovers.write(leftovers.folder_of(str(invoke.workspace)), control.saved())
    control.apply(DeviceState(1560))
    yield root, Path(note.path)
    note.remove()


@pytest.fixture
def killed(running: tuple[Path, Path]) -> tuple[Path, Path]:
    """The same after the guard was killed: another file, without its lock."""
    root, note = running
    copy = note.with_name("left.json")
    copy.write_text(note.read_text())
    note.unlink()
    return root, copy


def test_the_clock_of_a_killed_profile_is_restored(invoke: CommandLine, killed: tuple[Path, Path]) -> None:
    root, note = killed
    done = invoke(*COMMAND)
    assert (done.stdout, done.stderr) == ("1 clock restored on n7\n", "")
    assert cpufreq_tree.limits(root, 0) == BEFORE
    assert not note.exists()
    assert invoke(*COMMAND).stdout == "0 clocks restored on n7\n"


def test_the_clock_of_a_profile_that_runs_is_left_to_it(invoke: CommandLine, running: tuple[Path, Path]) -> None:
    root, note = running
    done = invoke(*COMMAND)
    assert done.stdout == "0 clocks restored on n7\n"
    assert "1 clock not restored: in use by an active profile" in done.stderr
    assert cpufreq_tree.limits(root, 0) == CHANGED
    assert note.exists()


def test_a_clock_that_cannot_be_restored_is_a_failure(invoke: CommandLine, killed: tuple[Path, Path]) -> None:
    _, note = killed
    note.write_text("{}")
    done = invoke(*COMMAND, expect=1)
    assert done.stdout == ""
    assert "an earlier profile has changed a clock that could not be restored" in " ".join(done.stderr.split())


def test_other_nodes_with_changed_clocks_are_named(
    invoke: CommandLine, killed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", "n8")
    done = invoke(*COMMAND)
    assert done.stdout == "0 clocks restored on n8\n"
    message = "other nodes have changed clocks: n7; to restore them: srun -w NODE hpcbench profile --restore-clocks"
    assert message in " ".join(done.stderr.split())
    assert killed[1].exists()


@pytest.mark.parametrize(
    ("words", "name"), [(("my.yaml",), "EXPERIMENT"), (("--clocks", "5"), "--clocks"), (("-n",), "--dry-run")]
)
def test_it_makes_no_sweep(invoke: CommandLine, words: tuple[str, ...], name: str) -> None:
    done = invoke(*COMMAND, *words, expect=2)
    assert f"error: --restore-clocks cannot be used with {name}\n" in done.stderr
