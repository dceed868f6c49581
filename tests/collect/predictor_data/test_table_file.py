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
