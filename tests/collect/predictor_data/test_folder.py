"""The tables of a folder are found by their names, and read from Parquet and CSV."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from hpcbench.collect.predictor_data.folder import find_tables
from hpcbench.collect.predictor_data.table_file import read_table
from hpcbench.errors import UserError

TABLE = pd.DataFrame({"device": ["GPU A", None], "m": [1.0, 2.5]})


def test_tables_with_known_names_are_found_and_others_are_listed(tmp_path: Path) -> None:
    for name in ("known_b.csv", "known_a.parquet", "other.csv", "README.md", "known.txt"):
        (tmp_path / name).touch()
    (tmp_path / "known_folder.csv").mkdir()
    found = find_tables(tmp_path, lambda stem: stem.startswith("known"))
    assert [path.name for path in found.known] == ["known_a.parquet", "known_b.csv"]
    assert found.unknown == ("other.csv",)


def test_two_files_that_differ_in_the_suffix_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "a.parquet").touch()
    with pytest.raises(UserError, match=r"a.parquet and a.csv are the same table"):
        find_tables(tmp_path, lambda stem: True)
    assert find_tables(tmp_path, lambda stem: False).known == ()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="directory not found"):
        find_tables(tmp_path / "nowhere", lambda stem: True)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="not a directory"):
        find_tables(tmp_path / "file", lambda stem: True)


def test_parquet_keeps_types_and_csv_is_text(tmp_path: Path) -> None:
    TABLE.to_parquet(tmp_path / "a.parquet")
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    assert read_table(tmp_path / "a.parquet")["m"].tolist() == [1.0, 2.5]
    text = read_table(tmp_path / "a.csv")
    assert text["m"].tolist() == ["1.0", "2.5"]
    assert text["device"].isna().tolist() == [False, True]


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_file_that_is_no_table_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'a,b\n"1' if name == "a.csv" else b"PAR1 is not enough")
    with pytest.raises(UserError, match=r"not a (Parquet|CSV) file: ") as error:
        read_table(tmp_path / name)
    assert error.value.where.endswith(name)


def test_parquet_requires_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="requires pyarrow") as error:
        read_table(tmp_path / "a.parquet")
    assert "'.[predict]'" in error.value.hint
