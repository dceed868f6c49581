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
    """Add `--figures DIR`, `--figure-format` (the parameter is `formats`) and `--theme` to a command."""
    options = (
        click.option("--figures", metavar="DIR", callback=not_empty, help="Write the figures to this folder."),
        click.option(
            "--figure-format",
            "formats",
            metavar="FORMAT",
            default="svg",
            show_default=True,
            help=f"Write figures in this format, or in several separated by commas: {', '.join(FORMATS)}.",
        ),
        click.option(
            "--theme",
            type=click.Choice(THEMES),
            default="screen",
            show_default=True,
            help="Draw figures for a screen, or for one column of a two-column paper.",
        ),
    )
    for option in reversed(options):  # so that they have the order of decorators
        command = option(command)
    return command


def formats_of(context: click.Context, folder: str | None, text: str) -> list[str]:
    """Return the named formats, which commas separate.

    Raises UserError for an unknown format, and for options of figures without --figures.
    """
    for option, name in (("--figure-format", "formats"), ("--theme", "theme")):
        if not folder and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise UserError(f"{option} requires --figures", hint="add --figures DIR")
    wanted = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in wanted:
        if name not in FORMATS:
            raise UserError(f"unknown format '{name}'", where="--figure-format", hint=nearest(name, FORMATS))
    return wanted


def write_figures(drawn: Iterable[Figure], folder: str, formats: Iterable[str], theme: Any, lacking: str) -> None:
    """Write figures and print their files; without figures, print what is `lacking`.

    Raises UserError if one cannot be written.
    """
    from hpcbench.report.export import figure_files

    written = figure_files.write(drawn, Path(folder), formats, theme)
    for words in [f"wrote {path}" for path in written] or [f"no figures: {lacking}"]:
        err.print(words, soft_wrap=True, markup=False)
