"""Sweeps are removed by renaming their folders first, so that no command finds half a sweep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.removal import delete_hidden, hide
from hpcbench.store.workspace import Workspace


@pytest.fixture
def made(tmp_path: Path) -> Workspace:
    """A workspace with the sweep `one`, in whose results is a link to a file outside."""
    made = Workspace(tmp_path / "workspace")
    paths = made.paths("one")
    for folder in (paths.jobs, paths.results):
        folder.mkdir(parents=True)
    paths.description.write_text("{}")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data").write_text("kept")
    (paths.results / "link").symlink_to(outside)
    return made


def folders(made: Workspace) -> list[str]:
    return [path.name for kind in ("jobs", "results") for path in (made.root / kind).iterdir()]


def test_a_hidden_sweep_is_found_by_nobody_and_deleted_without_following_links(made: Workspace, tmp_path: Path) -> None:
    hide(made.paths("one"))
    assert made.sweeps() == []
    assert not list((made.root / "results").glob("[!.]*"))
    delete_hidden(made)
    assert folders(made) == []
    assert (tmp_path / "outside" / "data").read_text() == "kept"


def test_an_interrupted_removal_is_completed_by_the_next(made: Workspace) -> None:
    hide(made.paths("one"))
    other = made.paths("other")
    other.jobs.mkdir()
    hide(other)  # no run of it has started: it has no results
    delete_hidden(made)
    assert folders(made) == []


def test_a_sweep_that_another_process_has_removed_is_an_error(made: Workspace) -> None:
    hide(made.paths("one"))
    with pytest.raises(UserError, match="another process has deleted the sweep"):
        hide(made.paths("one"))


def test_a_sweep_whose_results_cannot_be_renamed_stays_whole(made: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if source.parent.name == "results":
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr("os.rename", refuse)
    with pytest.raises(UserError, match="results/one: cannot be deleted: Permission denied"):
        hide(made.paths("one"))
    assert made.sweeps() == ["one"]


def test_a_link_with_the_name_of_a_removed_sweep_is_left(made: Workspace, tmp_path: Path) -> None:
    (made.root / "jobs" / ".one.1.removed").symlink_to(tmp_path / "outside")
    delete_hidden(made)
    assert (tmp_path / "outside" / "data").is_file()
