"""Conventions of all commands: help with named placeholders, variables for options, and the command that was meant."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hpcbench import cli
from hpcbench.commands.options import usage_errors
from hpcbench.commands.options.option_conventions import variable_of
from tests.conftest import CommandLine

ROOT = Path(__file__).parents[3]
# click's own placeholders for values without a name.
UNNAMED = re.compile(r"\b(TEXT|INTEGER|INTEGER RANGE|FLOAT|PATH|DIRECTORY|FILENAME)\b|\[\w[\w-]*\|")
SHORT = {"--dry-run": "-n", "--site": "-s", "--watch": "-w", "--output": "-o", "--yes": "-y", "--follow": "-f"}
SHORT |= {"--workspace": "-C", "--quiet": "-q", "--version": "-V"}
MOST_EXAMPLES = 8


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands with their words, and hpcbench itself."""
    context = click.Context(cli.group)
    yield "", cli.group
    for name in cli.FOLDERS:
        command = cli.group.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {member}", each) for member, each in command.commands.items())


ALL = dict(commands())


@pytest.mark.parametrize("words", ALL)
def test_help_names_each_value_and_has_examples_but_not_many(words: str) -> None:
    command = ALL[words]
    shown = command.get_help(click.Context(command, info_name=f"hpcbench {words}"))
    options = shown.partition("Examples:")[0]
    assert not UNNAMED.search(options), shown
    examples = [line for line in shown.partition("Examples:")[2].splitlines() if line.strip().startswith("hpcbench ")]
    assert 1 <= len(examples) <= MOST_EXAMPLES


@pytest.mark.parametrize("words", ALL)
def test_options_of_one_name_have_one_short_form(words: str) -> None:
    for option in ALL[words].params:
        for long in option.opts:
            # `history --site` is a filter, not a site file
            if long in SHORT and (words, long) != ("history", "--site"):
                assert SHORT[long] in option.opts, (words, long)


def test_each_option_has_a_variable_that_nothing_else_uses() -> None:
    options = {  # `env list` and `list environments` are one command
        id(option): option.envvar
        for words, command in ALL.items()
        for option in command.params
        if isinstance(option, click.Option) and words and not option.hidden
    }
    own = list(options.values())
    assert len(own) == len(set(own))
    assert {"HPCBENCH_SWEEP_DRY_RUN", "HPCBENCH_ENV_BUILD_PYTHON", "HPCBENCH_STATUS_JSON"} <= set(own)
    source = subprocess.run(
        ["git", "grep", "-ohE", "HPCBENCH_[A-Z_]+", "--", "hpcbench", "templates"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    of_jobs = {"HPCBENCH_RUN", "HPCBENCH_RANK", "HPCBENCH_LOG", "HPCBENCH_ENVS", "HPCBENCH_SITE"}
    assert of_jobs <= set(source.stdout.split())
    assert not (set(source.stdout.split()) - {"HPCBENCH_SWEEP_DRY_RUN"}) & set(own)


def test_variable_names_follow_the_long_option() -> None:
    option = click.Option(["-n", "--dry-run"])
    assert variable_of(option, "sweep") == "HPCBENCH_SWEEP_DRY_RUN"


def test_a_variable_sets_an_option_and_the_command_line_overrides_it(invoke: CommandLine) -> None:
    experiment = invoke.experiment()
    planned = {"HPCBENCH_SWEEP_DRY_RUN": "1", "HPCBENCH_SWEEP_LOCAL": "1", "HPCBENCH_SWEEP_SET": "batch_size=7 nodes=1"}
    shown = invoke("sweep", experiment, env=planned).stdout
    assert "batch_size" in shown or "1 case" in shown
    assert not (invoke.workspace / "jobs").exists()
    assert "unknown parameter 'x'" in invoke("sweep", experiment, "--set", "x=1", env=planned, expect=2).stderr


def test_a_variable_for_figures_alone_is_no_mistake(invoke: CommandLine) -> None:
    error = invoke("report", env={"HPCBENCH_REPORT_FIGURE_FORMAT": "pdf"}, expect=2).stderr
    assert "no sweep found" in error
    assert "--figure-format requires --figures" in invoke("report", "--figure-format", "pdf", expect=2).stderr


@pytest.mark.parametrize("word", usage_errors._COMMANDS)
def test_the_command_that_is_meant_is_named(word: str, invoke: CommandLine) -> None:
    meant = usage_errors._COMMANDS[word]
    assert word not in cli.FOLDERS
    assert meant in cli.FOLDERS
    assert f"unknown command '{word}'; did you mean '{meant}'?" in invoke(word, expect=2).stderr


def test_help_of_a_command_is_that_of_its_option(invoke: CommandLine) -> None:
    assert invoke("help").stdout == invoke("--help").stdout
    assert invoke("help", "env", "build").stdout == invoke("env", "build", "--help").stdout
    assert "did you mean 'rm'?" in invoke("help", "delete", expect=2).stderr
    assert "hpcbench sweep has no command 'x'" in invoke("help", "sweep", "x", expect=2).stderr
    titles = [line for line in invoke("--help").stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Run:", "Inspect:", "Analyse:", "Predict:", "Set up and manage:"]


def test_help_says_when_to_sweep_and_when_to_tune(invoke: CommandLine) -> None:
    for command, other in (("sweep", "hpcbench tune"), ("tune", "hpcbench sweep")):
        shown = " ".join(invoke(command, "--help").stdout.split())
        assert f"Use {command} " in shown
        assert other in shown


def test_colours_are_printed_always_never_or_on_a_terminal(invoke: CommandLine) -> None:
    def escapes(*options: str, **variables: str) -> bool:
        return "\x1b[" in invoke(*options, "list", "sites", env={"TERM": "xterm", **variables}).stdout

    assert not escapes()
    assert escapes("--color", "always")
    assert escapes("--color", "always", NO_COLOR="1")
    assert escapes(FORCE_COLOR="1")
    assert not escapes("--color", "never", FORCE_COLOR="1")
    assert escapes(HPCBENCH_COLOR="always")


def test_quiet_keeps_results_and_errors(invoke: CommandLine) -> None:
    loud = invoke("env", "list", env={"HPCBENCH_SITE": "nothing"})
    quiet = invoke("-q", "env", "list", env={"HPCBENCH_SITE": "nothing"})
    assert "'nothing' not found" in loud.stderr
    assert (quiet.stdout, quiet.stderr) == (loud.stdout, "")
    assert "no sweep found" in invoke("-q", "status", expect=2).stderr
    assert invoke("-V").stdout.startswith("hpcbench ")
