"""A sweep that is replaced is there until another one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.removal import hide
from hpcbench.store.set_aside import restore, set_aside
from hpcbench.store.workspace import SweepPaths, Workspace


@pytest.fixture
def paths(tmp_path: Path) -> SweepPaths:
    found = Workspace(tmp_path).paths("main")
    write(found, "old")
    return found


def write(paths: SweepPaths, content: str) -> None:
    for folder in (paths.results, paths.jobs):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sweep.json").write_text(content)


def contents(paths: SweepPaths) -> list[str]:
    return [(folder / "sweep.json").read_text() for folder in (paths.jobs, paths.results)]


def names(paths: SweepPaths) -> list[str]:
    return sorted(each.name for folder in (paths.jobs, paths.results) for each in folder.parent.iterdir())


def test_the_old_one_is_deleted_when_the_new_one_is_there(paths: SweepPaths) -> None:
    with set_aside(paths):
        assert not paths.jobs.exists()
        assert names(paths) == [".main.replaced", ".main.replaced"]
        write(paths, "new")
        assert len(names(paths)) == 4
    assert contents(paths) == ["new", "new"]
    assert names(paths) == ["main", "main"]


@pytest.mark.parametrize("error", [UserError("no disk"), KeyboardInterrupt()])
def test_the_old_one_comes_back_if_the_new_one_is_not_created(paths: SweepPaths, error: BaseException) -> None:
    def create_half() -> None:
        with set_aside(paths):
            paths.results.mkdir()
            (paths.results / "half").touch()
            raise error

    with pytest.raises(type(error)):
        create_half()
    assert contents(paths) == ["old", "old"]
    assert not (paths.results / "half").exists()
    assert names(paths) == ["main", "main"]


@pytest.mark.parametrize("moved", [("jobs",), ("jobs", "results")])
def test_the_old_one_comes_back_after_a_kill(paths: SweepPaths, moved: tuple[str, ...]) -> None:
    for name in moved:
        folder = getattr(paths, name)
        folder.rename(folder.with_name(".main.replaced"))
    restore(paths)
    assert contents(paths) == ["old", "old"]
    assert names(paths) == ["main", "main"]


def test_a_kill_while_the_old_one_is_deleted_restores_no_part_of_it(paths: SweepPaths, monkeypatch) -> None:
    def killed(workspace: Workspace) -> None:
        raise KeyboardInterrupt

    def replace() -> None:
        with set_aside(paths):
            write(paths, "new")

    with monkeypatch.context() as patched:
        patched.setattr("hpcbench.store.removal.delete_hidden", killed)
        with pytest.raises(KeyboardInterrupt):
            replace()
    hide(paths)  # as `rm` does
    restore(paths)
    assert not paths.jobs.exists()
    write(paths, "third")
    replace()
    assert (contents(paths), names(paths)) == (["new", "new"], ["main", "main"])


def test_a_kill_after_the_new_one_was_created_leaves_it_alone(paths: SweepPaths) -> None:
    for folder in (paths.jobs, paths.results):
        folder.rename(folder.with_name(".main.replaced"))
    write(paths, "new")
    restore(paths)
    assert contents(paths) == ["new", "new"]
    with set_aside(paths):
        write(paths, "newer")
    assert contents(paths) == ["newer", "newer"]
    assert names(paths) == ["main", "main"]
