"""Copies of the CSV files of an experiment in the folder of a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.store.provenance.input_files import INPUTS, copy_of, copy_or, write

NAMES = [
    "a.csv",
    "b/a.csv",
    "../a.csv",
    "/data/a.csv",
    "b/../a.csv",
    "with space\n.csv",
    f"{'x' * 300}.csv",
    "..",
    "ä.csv",
]


def test_each_file_has_a_copy_of_its_own_below_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {name: f"of {name!r}\r\n" for name in NAMES})
    assert {copy_of(tmp_path, name).read_bytes() for name in NAMES} == {f"of {name!r}\r\n".encode() for name in NAMES}
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path / INPUTS}


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_copy_is_plain_and_short(name: str, tmp_path: Path) -> None:
    found = copy_of(tmp_path, name).name
    assert found.isascii()
    assert found.isprintable()
    assert len(found) < 120


def test_a_sweep_without_files_has_no_folder_of_copies(tmp_path: Path) -> None:
    write(tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_copy_is_looked_up_elsewhere(tmp_path: Path) -> None:
    write(tmp_path, {"a.csv": "a"})
    locate = copy_or(tmp_path, lambda name: Path("/elsewhere", name))
    assert locate("a.csv") == copy_of(tmp_path, "a.csv")
    assert locate("b.csv") == Path("/elsewhere/b.csv")
