"""The option with the file of published times."""

from __future__ import annotations

from collections.abc import Callable

import click

from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.report.load.published import Published, read_published


def published_option() -> Callable[[Command], Command]:
    """Return the option `--published FILE`; the parameter `published` has the times of the file, or None."""

    def read(context: click.Context, option: click.Parameter, file: str | None) -> Published | None:
        name = not_empty(context, option, file)
        return None if name is None else read_published(name)

    text = "Show published operator times from FILE (format: DeepBench's results)."
    return click.option("--published", metavar="FILE", callback=read, help=text)
