"""The key `where` of a CSV file in an experiment."""

from __future__ import annotations

import pytest

from hpcbench.config.matrix import row_filter
from hpcbench.config.matrix.csv_file import CsvError, CsvTable, parse_csv
from hpcbench.config.matrix.row_filter import Where, columns_used, matching_rows


def table_of(text: str) -> CsvTable:
    return CsvTable.of({"a.csv": parse_csv(text)})


TABLE = table_of("set,sizes.m,flag,gflop,GFLOP/s\ntrain,1,true,0.5,1\ntest,2,false,,2\ntrain,4,1,3,3\n,4,yes,4,4\n")


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"set": "train"}, [0, 2]),
        ({"set": ["train", "test"], "sizes.m": [2, 4]}, [1, 2]),
        ({"set": None}, [3]),
        ({"flag": True}, [0]),
        ({"flag": 1}, [2]),
        ({"sizes.m": 4.0}, [2, 3]),
        ({"GFLOP/s": 2}, [1]),
        ({}, [0, 1, 2, 3]),
        ("{{ sizes.m > 1 }}", [1, 2, 3]),
        ("{{ set == 'train' and (gflop or 0) < 2 }}", [0]),
        ("{{ gflop is none }}", [1]),
    ],
)
def test_a_condition_selects_rows(where: Where, rows: list[int]) -> None:
    assert matching_rows(TABLE, where) == rows


@pytest.mark.parametrize(
    ("where", "what", "line", "hint"),
    [
        ({"sett": 1}, "column 'sett' not found", None, "did you mean 'set'?"),
        ("{{ gflops < 2 }}", "column 'gflops' not found", None, "did you mean 'gflop'?"),
        ("{{ gflop < 2 }}", "cannot be evaluated", 3, "'gflop' is unset"),
        ("{{ gflop < }}", "is not an expression", None, ""),
        ({"set": "training"}, "no row matches", None, "values of set: train, test, empty"),
        ("{{ sizes.m > 9 }}", "no row matches", None, "values of sizes.m: 1, 2, 4"),
    ],
)
def test_a_wrong_condition_has_a_reason(where: Where, what: str, line: int | None, hint: str) -> None:
    with pytest.raises(CsvError) as caught:
        matching_rows(TABLE, where)
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert (caught.value.line, caught.value.key) == (line, "where")


def test_the_time_of_a_condition_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_filter, "MAX_S", 1e-6)
    many = table_of("a\n" + "1\n" * 2000)
    with pytest.raises(CsvError, match="cannot be evaluated: it takes longer"):
        matching_rows(many, "{{ a == 1 }}")


def test_two_columns_that_an_expression_cannot_tell_apart_are_an_error() -> None:
    with pytest.raises(CsvError, match=r"'m\.a' cannot be set") as caught:
        matching_rows(table_of("m,m.a\n1,2\n"), "{{ m == 1 }}")
    assert (caught.value.file, caught.value.line) == ("a.csv", 2)


def test_a_condition_uses_the_columns_that_it_names() -> None:
    assert columns_used("{{ sizes.m > 1 or gflop > 2 }}", TABLE.columns) == {"sizes.m", "gflop"}
    assert columns_used({"set": 1, "other": 2}, TABLE.columns) == {"set"}
