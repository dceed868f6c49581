"""Whose the folders of a sweep are. Another user is made by chown, which needs root, or by pretending to be one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.sweep import Sweep, load

MakeSweep = Callable[..., Sweep]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_sweep_is_closed_to_others(make_sweep: MakeSweep) -> None:
    paths = make_sweep().paths
    assert (mode(paths.jobs), mode(paths.results)) == (0o700, 0o700)


@pytest.mark.parametrize(("umask", "wanted"), [(0o022, 0o755), (0o002, 0o775), (0o077, 0o700)])
def test_a_shared_sweep_is_as_open_as_the_umask_lets_it_be(umask: int, wanted: int, make_sweep: MakeSweep) -> None:
    before = os.umask(umask)
    try:
        paths = make_sweep("shared: true\n").paths
    finally:
        os.umask(before)
    assert (mode(paths.jobs), mode(paths.results)) == (wanted, wanted)


@pytest.mark.parametrize("kind", ["jobs", "results"])
@pytest.mark.parametrize("shared", ["", "shared: true\n"])
def test_a_link_in_the_place_of_a_folder_is_refused(kind: str, shared: str, make_sweep: MakeSweep) -> None:
    sweep = make_sweep(shared)
    folder = getattr(sweep.paths, kind)
    elsewhere = folder.with_name("elsewhere")
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    with pytest.raises(UserError, match="the path is a link of ") as caught:
        load(sweep.paths).check_writable()
    assert caught.value.where == str(folder)


@pytest.mark.parametrize("kind", ["jobs", "results"])
def test_the_folder_of_all_sweeps_may_be_a_link(kind: str, make_sweep: MakeSweep, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / kind).symlink_to(tmp_path / "elsewhere")
    make_sweep().check_writable()


@pytest.mark.parametrize("planted", ["a link", "a dangling link", "a file"])
def test_a_sweep_is_not_begun_where_its_results_are_something_else(
    planted: str, make_sweep: MakeSweep, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    results = tmp_path / "workspace" / "results" / "study-1"
    results.parent.mkdir(parents=True)
    if planted == "a file":
        results.touch()
    else:
        results.symlink_to(elsewhere)
    if planted == "a link":
        elsewhere.mkdir()
    with pytest.raises(UserError, match=f"the path is {planted.replace(' dangling', '')} of "):
        make_sweep()
    assert not (tmp_path / "workspace" / "jobs" / "study-1").exists()


def test_somebody_elses_sweep_is_left_alone_unless_it_is_shared(
    make_sweep: MakeSweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, shared = make_sweep(), make_sweep("shared: true\n", name="study-2")
    user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(UserError, match=rf"the sweep is .*'s, and you are (user {user}|\w+)") as caught:
        own.check_writable()
    assert "shared: true" in caught.value.hint
    shared.check_writable()
