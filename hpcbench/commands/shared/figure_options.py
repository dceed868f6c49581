"""Figures on the command line: into which folder, in which formats, for a screen or a paper."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.errors import UserError, nearest
from hpcbench.util.console import err

if TYPE_CHECKING:
    from hpcbench.report.charts.components import Figure

FORMATS = ("svg", "png", "pdf")
THEMES = ("screen", "paper")


def figure_options(command: Command) -> Command:
    """`--figures DIR`, `--format` (the parameter is `formats`) and `--theme`."""
    options = (
        click.option("--figures", metavar="DIR", callback=not_empty, help="Write the figures into this folder."),
        click.option(
            "--format",
            "formats",
            default="svg",
            show_default=True,
            help=f"Of figures: {', '.join(FORMATS)}; or several.",
        ),
        click.option(
            "--theme",
            type=click.Choice(THEMES),
            default="screen",
            show_default=True,
            help="Of figures; paper: a column of two.",
        ),
    )
    for option in reversed(options):  # as they would stand above the command
        command = option(command)
    return command


def formats_of(context: click.Context, folder: str | None, text: str) -> list[str]:
    """Those that are named, with commas between. Raises UserError for one that there is not, and where it is said how
    figures are to be and not where."""
    for option, name in (("--format", "formats"), ("--theme", "theme")):
        if not folder and context.get_parameter_source(name) != ParameterSource.DEFAULT:
            raise UserError("it says how figures are written", where=option, hint="add --figures DIR")
    wanted = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in wanted:
        if name not in FORMATS:
            raise UserError(f"'{name}' is no format of figures", where="--format", hint=nearest(name, FORMATS))
    return wanted


def write_figures(drawn: Iterable[Figure], folder: str, formats: Iterable[str], theme: Any, lacking: str) -> None:
    """Write them and tell the files; where there is none, tell what is `lacking`. Raises UserError where one cannot be
    written."""
    from hpcbench.report.export import figure_files

    written = figure_files.write(drawn, Path(folder), formats, theme)
    for words in [f"wrote {path}" for path in written] or [f"there is nothing to draw: {lacking}"]:
        err.print(words, soft_wrap=True, markup=False)
