"""What reaches the terminal of what others wrote."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hpcbench import cli
from hpcbench.errors import UserError
from hpcbench.util.console import PrintableConsole, err, out

NASTY = "\x1b[2J\x1b]0;title\x07\x9b31mgone"


def console(kind: type[Console] = PrintableConsole) -> Console:
    return kind(file=io.StringIO(), width=60, highlight=False, force_terminal=True, color_system="standard")


def printed(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def table(cell: str) -> Table:
    made = Table(title=cell)
    made.add_column(Text(f"head {cell}"))
    made.add_row(Text(cell))
    return made


@pytest.mark.parametrize("what", [NASTY, Text(NASTY), table(NASTY), Text.assemble((NASTY, "red"))])
def test_no_escape_sequence_of_what_is_printed_is_left(what: object) -> None:
    made = console()
    made.print(what, markup=False)
    shown = printed(made)
    assert "[2J" in shown
    assert "gone" in shown
    for sequence in ("\x1b[2J", "\x1b]0", "\x07", "\x9b"):
        assert sequence not in shown


def test_colours_and_movements_of_our_own_are_as_without_it() -> None:
    shown = []
    for kind in (Console, PrintableConsole):
        made = console(kind)
        made.print("[red]failed[/red] one\n\ttwo", table("größer"))
        with Live(Text("one"), console=made, auto_refresh=False) as live:
            live.update(Text("two\nlines"), refresh=True)
            live.update(Text("three\nlines"), refresh=True)
        shown.append(printed(made))
    assert shown[0] == shown[1]
    assert "\x1b[31mfailed" in shown[0]
    assert "\x1b[1A" in shown[0]


def test_what_the_encoding_does_not_have_is_a_question_mark() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    PrintableConsole(file=file, width=60).print("größer 大", markup=False)
    file.flush()
    assert file.buffer.getvalue().decode("latin-1") == "größer ?\n"  # type: ignore[attr-defined]


def test_both_streams_of_the_commands_are_such() -> None:
    assert isinstance(out, PrintableConsole)
    assert isinstance(err, PrintableConsole)


def test_an_error_has_none_either(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(**settings: object) -> None:
        raise UserError(NASTY, where="sweep.json", hint="do this")

    monkeypatch.setattr(cli.group, "main", fail)
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr().err
    assert said.endswith("gone\n  --> sweep.json\nhint: do this\n")
    assert "\x1b" not in said
