"""The options `--dry-run` and `--show-script`."""

from __future__ import annotations

from collections.abc import Callable

import click

from hpcbench.commands.shared.context import Command


def dry_run_options(text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `-n/--dry-run`, with `text` as its help, and `--show-script`, which implies it."""

    def decorate(command: Command) -> Command:
        script: Callable[[Command], Command] = click.option(
            "--show-script", is_flag=True, is_eager=True, help="Like --dry-run, and also print the first job script."
        )
        dry: Callable[[Command], Command] = click.option(
            "-n", "--dry-run", is_flag=True, callback=_or_show_script, help=text
        )
        return dry(script(command))

    return decorate


def _or_show_script(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    return value or bool(context.params["show_script"])  # which is parsed first, because it is eager
