"""The exit status of every command: one table, in each help and in the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hpcbench import cli
from hpcbench.util.exit_status import FAILURE, INCONCLUSIVE, MEANINGS, SUCCESS, exit_statuses, worst


def commands(found: click.Command, *names: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(found, click.Group):
        for name in found.list_commands(click.Context(found)):
            command = found.get_command(click.Context(found), name)
            assert command is not None
            yield from commands(command, *names, name)
    else:
        yield " ".join(names), found


ALL = dict(commands(cli.group))


@pytest.mark.parametrize("name", ALL)
def test_each_help_ends_with_the_exit_status(name: str) -> None:
    last = (ALL[name].epilog or "").strip().splitlines()[-1]
    assert last.startswith("Exit status: 0 success; ")
    assert last.endswith("; 2 usage error; 130 interrupted.") or "; 2 usage error; 3 " in last


@pytest.mark.parametrize("name", ["compare", "gate", "history"])
def test_commands_with_a_verdict_have_a_status_for_none(name: str) -> None:
    assert "; 3 inconclusive: " in (ALL[name].epilog or "")


def test_the_table_is_documented() -> None:
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "exit-status.md").read_text()
    for status, meaning in MEANINGS.items():
        assert f"| {status} | {meaning} |" in reference


def test_a_command_names_only_the_statuses_that_it_has() -> None:
    assert exit_statuses() == "\nExit status: 0 success; 2 usage error; 130 interrupted.\n"
    assert "; 1 it failed; 2 usage error; 130" in exit_statuses("it failed")


@pytest.mark.parametrize(
    ("statuses", "expect"),
    [((0, 0), SUCCESS), ((0, 3), INCONCLUSIVE), ((3, 1), FAILURE), ((1, 0), FAILURE)],
)
def test_a_failure_outweighs_what_is_inconclusive(statuses: tuple[int, int], expect: int) -> None:
    assert worst(*statuses) == expect


@pytest.mark.parametrize("name", ALL)
def test_an_option_has_one_meaning_in_all_commands(name: str) -> None:
    """A flag stays a flag, and what a file option takes is called FILE."""
    for option in (each for each in ALL[name].params if isinstance(each, click.Option)):
        for word in set(option.opts) & {"--json", "--wait", "--markdown", "--replace", "--update", "--watch"}:
            assert option.is_flag, word
        for word in set(option.opts) & {"--csv", "--html", "--parquet", "--junit", "-o"}:
            assert option.metavar == "FILE", word
    words = {word for option in ALL[name].params for word in option.opts}
    assert not words & {"--format", "--base", "--fail-on"}
