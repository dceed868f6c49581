"""The option `-P NAME=VALUES`: the values of a parameter of a program."""

from __future__ import annotations

from collections.abc import Callable

import click

from hpcbench.commands.shared.context import Command


def parameter_option() -> Callable[[Command], Command]:
    """Return a decorator that adds `-P`; its parameter is `parameters`, a tuple of `NAME=VALUES`."""
    decorate: Callable[[Command], Command] = click.option(
        "--parameter",
        "-P",
        "parameters",
        multiple=True,
        metavar="NAME=VALUES",
        help="Measure these values of a parameter: A,B,... or a range A..B, A..B:STEP, 'A..B:*FACTOR' or A..B:log "
        "(each value is 10 times the previous one); may be repeated. {NAME} in the command is replaced by the value.",
    )
    return decorate
