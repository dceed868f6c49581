"""The arguments [SWEEP] [CASE]... of `show` and `logs`, and how their words are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import click

from hpcbench.commands.options.completion import complete_sweep_or_case
from hpcbench.commands.shared.context import Command, is_archive, open_sweep, workspace_of
from hpcbench.store.workspace import SweepPaths


class NamedCase(NamedTuple):
    """A sweep, the words that identify one of its cases, and how they were read, as the location of an error."""

    paths: SweepPaths
    case: str  # empty: none was given
    where: str


def sweep_and_case_argument() -> Callable[[Command], Command]:
    """Return the arguments of a command for a case; the parameter is `words`."""
    return click.argument("words", nargs=-1, metavar="[SWEEP] [CASE]...", shell_complete=complete_sweep_or_case)


def sweep_and_case(context: click.Context, words: Sequence[str]) -> NamedCase:
    """Return the sweep and the case that words name.

    A first word with `=` begins a case of the latest sweep. Any other first word is the sweep if more words follow, or
    if it names one; otherwise it is a case of the latest sweep. Raise UserError if the sweep is not found.
    """
    workspace = workspace_of(context)
    first = words[0] if words else "latest"
    is_file = is_archive(workspace, first)
    if "=" in first and not is_file:
        paths = workspace.find("latest")
        return NamedCase(paths, ",".join(words), f"CASE of {paths.name}, the latest sweep")
    matches = [] if is_file else workspace.matching(first)
    if is_file or len(words) > 1 or len(matches) == 1:
        paths = open_sweep(context, workspace, first)
        return NamedCase(paths, ",".join(words[1:]), f"CASE of {paths.name}")
    paths = workspace.find("latest")
    why = "matches several sweeps" if matches else "is not a sweep"
    return NamedCase(paths, first, f"CASE of {paths.name}, the latest sweep, because '{first}' {why}")
