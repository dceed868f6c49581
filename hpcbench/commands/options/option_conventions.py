"""Conventions that hold for the options of all commands: variables of the environment, and placeholders in help."""

from __future__ import annotations

from collections.abc import Iterable

import click

PREFIX = "HPCBENCH"


def apply_conventions(command: click.Command, *words: str) -> click.Command:
    """Give each option the variable HPCBENCH_COMMAND_OPTION, and a placeholder for its value; return the command.

    `words` are the names of the command and of the groups that it is in.
    """
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            parameter.envvar = parameter.envvar or variable_of(parameter, *words)
        if parameter.metavar is None:
            parameter.metavar = _placeholder(parameter)
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            apply_conventions(member, *words, name)
    return command


def variable_of(option: click.Option, *words: str) -> str:
    """Return the variable that sets an option of the command `words`: HPCBENCH_SWEEP_DRY_RUN for `sweep --dry-run`."""
    long = max(option.opts, key=len).lstrip("-")
    return "_".join([PREFIX, *words, long]).replace("-", "_").upper()


def one_of(values: Iterable[str]) -> str:
    """Return the placeholder `{a,b}` for one of these values."""
    return f"{{{','.join(values)}}}"


def _placeholder(parameter: click.Parameter) -> str | None:
    """Return `{a,b}` for a choice and N for a number; None if click's own placeholder is fine."""
    if isinstance(parameter.type, click.Choice):
        return one_of(map(str, parameter.type.choices))
    return "N" if isinstance(parameter.type, click.types.IntParamType) else None
