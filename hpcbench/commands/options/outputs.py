"""The files and documents that a command writes: `--json`, options with FILE, and `-o FILE` by its suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.errors import UserError
from hpcbench.report.export.atomic_files import check_target
from hpcbench.util.console import err

STDOUT = "-"


@dataclass(frozen=True)
class Output:
    """A document that the user asked for: its format, its file, and the option as the user gave it."""

    format: str
    file: str
    option: str

    @property
    def is_stdout(self) -> bool:
        """Return whether the document replaces the text on standard output."""
        return self.file == STDOUT


def json_option(text: str = "Print JSON.") -> Callable[[Command], Command]:
    """Return the flag `--json`, which prints JSON and nothing else to standard output; the parameter is `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def file_option(name: str, title: str) -> Callable[[Command], Command]:
    """Return the option `--NAME FILE` of a format; the parameter is `NAME_file`."""
    text = f"Write {title} to FILE, or to stdout if FILE is -."
    return click.option(f"--{name}", f"{name}_file", metavar="FILE", callback=not_empty, help=text)


def output_option(*formats: str) -> Callable[[Command], Command]:
    """Return the option `-o FILE`, whose suffix is one of `formats`; the parameter `outputs` has a pair for each."""

    def chosen(_: click.Context, __: click.Parameter, files: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        return tuple((_format_of(file, formats), file) for file in files)

    text = f"Write FILE in the format of its suffix: {_suffixes(formats)}; may be repeated."
    return click.option("-o", "--output", "outputs", metavar="FILE", multiple=True, callback=chosen, help=text)


def _format_of(file: str, formats: Collection[str]) -> str:
    suffix = Path(file).suffix
    if suffix.removeprefix(".").lower() not in formats:
        what = f"unknown suffix '{suffix}'" if suffix else "the name has no suffix"
        raise UserError(what, where=f"-o {file}", hint=f"use one of: {_suffixes(formats)}")
    return suffix.removeprefix(".").lower()


def _suffixes(formats: Collection[str]) -> str:
    return ", ".join(f".{name}" for name in formats)


def requested(
    flags: Mapping[str, bool],
    files: Mapping[str, str | None],
    outputs: Collection[tuple[str, str]],
    figures: str | None = None,
) -> list[Output]:
    """Return the documents of the options with FILE, of the flags for standard output, and of `-o`.

    The command creates the folder `figures` before it writes documents. Raise UserError if several of them are for
    standard output, or if a file cannot be written.
    """
    found = [
        *(Output(name, file, f"--{name} {file}") for name, file in files.items() if file),
        *(Output(name, STDOUT, f"--{name}") for name, given in flags.items() if given),
        *(Output(name, file, f"-o {file}") for name, file in outputs),
    ]
    to_stdout = [output.option for output in found if output.is_stdout]
    if len(to_stdout) > 1:
        hint = "use one of them, or write to files"
        raise UserError(f"{to_stdout[0]} cannot be used with {to_stdout[1]}", hint=hint)
    for output in found:
        folder = Path(os.path.realpath(output.file)).parent
        is_made = figures and not folder.exists() and Path(os.path.realpath(figures)).is_relative_to(folder)
        if not output.is_stdout and not is_made:
            check_target(output.file)
    return found


def write_outputs(
    outputs: Collection[Output], writers: Mapping[str, Callable[[str], None]], contents: Mapping[str, str]
) -> None:
    """Write each document by the writer of its format, and print the files with the content of their formats."""
    for output in outputs:
        writers[output.format](output.file)
        if not output.is_stdout:
            content = contents.get(output.format)
            words = f"wrote {content} to {output.file}" if content else f"wrote {output.file}"
            err.print(words, soft_wrap=True, markup=False)
