"""One table of measurements: its rows are numbered, and commas separate its columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.collect.predictor_data.table_file import read_table
from hpcbench.errors import UserError


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", r"'\|'")])
def test_another_separator_than_commas_is_named(tmp_path: Path, separator: str, name: str) -> None:
    path = tmp_path / "operators_time.csv"
    path.write_text(f"device{separator}op\na{separator}b\n")
    with pytest.raises(UserError, match=f"the columns are separated by {name}") as error:
        read_table(path)
    assert "by commas" in error.value.hint


def test_a_table_of_one_column_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "operators_time.csv"
    path.write_text("device\na\n")
    assert read_table(path).to_dict("list") == {"device": ["a"]}


def test_a_row_with_more_values_than_the_header_is_an_error_and_does_not_shift_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "networks_operators.csv"
    path.write_text("op,shape\nVECadd,[2,3]\n")
    with pytest.raises(UserError, match="a row has more values than the header has columns") as error:
        read_table(path)
    assert "quote values that contain commas" in error.value.hint
    path.write_text('op,shape\nVECadd,"[2,3]",\n')
    assert read_table(path).to_dict("list") == {"op": ["VECadd"], "shape": ["[2,3]"]}, "a comma at the end of the line"


def test_a_table_of_a_spreadsheet_is_read_and_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_bytes("\ufeffdevice,op\r\nGerät,b\r\n".encode())
    assert read_table(path).to_dict("list") == {"device": ["Gerät"], "op": ["b"]}
    path.write_bytes("device,op\nGerät,b\n".encode("latin-1"))
    with pytest.raises(UserError, match="not a CSV file") as error:
        read_table(path)
    assert error.value.hint == "save it as UTF-8"


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_file_has_a_message_of_its_own(tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(content)
    with pytest.raises(UserError, match="the file is empty") as error:
        read_table(path)
    assert error.value.hint
