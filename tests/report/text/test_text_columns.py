"""Tables that fit: what gives way first, what stays, and how wide wide characters are."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.text_columns import GAP, Column, as_table, fitting
from tests.report.synthetic_results import SHAPES, shape


def headers(columns: list[Column], width: int) -> list[str]:
    return [column.header for column in fitting(columns, width)]


def printed(columns: list[Column], width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(as_table(columns))
    return file.getvalue().splitlines()


ABC = [Column("a", ("1234",)), Column("b", ("1234",), 1), Column("c", ("1234",), 2), Column("d", ("1234",), 1)]


@pytest.mark.parametrize(
    ("width", "kept"), [(22, "abcd"), (21, "abd"), (16, "abd"), (15, "ad"), (10, "ad"), (9, "a"), (4, "a"), (1, "a")]
)
def test_the_highest_number_gives_way_first_and_zero_never(width: int, kept: str) -> None:
    assert 4 * 4 + 3 * GAP == 22
    assert "".join(headers(ABC, width)) == kept


def test_a_header_is_broken_before_a_column_gives_way() -> None:
    columns = [Column("items of a step", ("1",)), Column("x", ("1",), 1)]
    assert headers(columns, 18) == ["items of a step", "x"]
    assert headers(columns, 17) == ["items\nof\na\nstep", "x"]
    assert headers(columns, 7) == ["items\nof\na\nstep"]


def test_a_header_is_broken_no_further_than_its_cells_are_wide() -> None:
    assert Column("intra op threads", ("12345678",)).narrow.header == "intra op\nthreads"
    assert Column("intra op threads", ()).narrow.header == "intra\nop\nthreads"
    assert Column("", ("1",)).narrow.header == ""


def test_wide_characters_take_two_cells() -> None:
    assert Column("x", ("漢字",)).width == 4
    assert Column("漢字", ("x",)).width == 4
    assert Column("two\nlines", ()).width == 5
    assert headers([Column("x", ("漢字",)), Column("y", ("1",), 1)], 7) == ["x", "y"]
    assert headers([Column("x", ("漢字",)), Column("y", ("1",), 1)], 6) == ["x"]


@pytest.mark.parametrize("name", [name for name in SHAPES if "50" not in name and "hostile" not in name])
def test_no_line_of_a_ranking_is_wider_than_a_terminal_of_80(name: str) -> None:
    found = shape(name)
    for work in found.workloads:
        columns = fitting(columns_of(work, found.quantity, found.metrics), 80)
        lines = printed(columns, 80)
        assert max(map(cell_len, lines)) <= 80
        assert not any(cell.endswith("…") for cell in " ".join(lines).split()), "a number was cut"
        assert found.workloads[0].shown == [] or columns[0].gives_way == 0


def test_words_are_broken_and_numbers_are_not() -> None:
    lines = printed([Column("name", ("x" * 30,), is_text=True), Column("time", ("29.1 ms",))], 20)
    assert sum(line.count("x") for line in lines) == 30
    assert any(line.endswith("29.1 ms") for line in lines)


def test_a_cell_is_text_and_no_markup() -> None:
    assert "[red]x[/red] [/]" in printed([Column("[bold]h", ("[red]x[/red] [/]",))], 80)[1]
    assert "[bold]h" in printed([Column("[bold]h", ("x",))], 80)[0]


def test_cells_may_have_styles_of_their_own() -> None:
    file = io.StringIO()
    column = Column("x", ("1", "2"), styles=("", "red"))
    Console(file=file, width=20, force_terminal=True, color_system="standard").print(as_table([column]))
    assert "\x1b[31m2" in file.getvalue()
    assert "\x1b[31m1" not in file.getvalue()


def test_what_stands_for_a_control_character_takes_its_cell() -> None:
    column = Column("\x1b[1mtag", ("\x1b[31mred",))
    assert Column("x", ("ab\x1b",)).printable.width == 3
    assert [line.strip() for line in printed([column, Column("n", ("1",))], 80)] == ["?[1mtag  n", "?[31mred  1"]
    assert headers([Column("x", ("\x1b" * 6,)), Column("y", ("1",), 1)], 8) == ["x"]
