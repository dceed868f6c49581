from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbench.errors import UserError
from hpcbench.store import packs
from tests.examples import examples

PACKS = st.lists(st.lists(st.integers(0, 99_999), min_size=1, max_size=20).map(tuple), max_size=40).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(PACKS)
def test_packs_are_read_as_they_were_written(tmp_path: Path, given: tuple[packs.Pack, ...]) -> None:
    packs.write(tmp_path / "packs" / "job-001", given)
    assert packs.read(tmp_path / "packs" / "job-001") == given


def test_line_k_is_the_pack_of_index_k_for_sed_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "packs" / "job-001.beef"
    packs.write(file, [(4, 0, 12), (7,)])
    assert subprocess.run(["sed", "-n", "2p", file], capture_output=True, text=True, check=True).stdout == "7\n"
    assert file.read_text() == "4 0 12\n7\n"
    assert list(file.parent.iterdir()) == [file]


def test_symbolic_links_of_other_users_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcbench.core.files.time.monotonic_ns", lambda: 7)
    (tmp_path / "target").write_text("kept")
    (tmp_path / f"job-001.{os.uname().nodename}-{os.getpid()}-7.part").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        packs.write(tmp_path / "job-001", [(1,)])
    assert (tmp_path / "target").read_text() == "kept"


def test_until_packs_are_on_disk_whole_they_do_not_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", dies)
    file = tmp_path / "job-001"
    with pytest.raises(KeyboardInterrupt):
        packs.write(file, [(1,)])
    assert not file.exists()


@pytest.mark.parametrize("content", [None, "0 1\n2 x\n", "0 1.5\n", "\xff\n"], ids=["gone", "word", "part", "bytes"])
def test_packs_that_cannot_be_read_are_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "job-001.beef"
    if content is not None:
        file.write_text(content, encoding="latin-1")
    with pytest.raises(UserError, match="cannot be read") as caught:
        packs.read(file)
    assert caught.value.where == str(file)
