"""The option `--mllog`, which writes MLPerf logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.core.record import Record
from hpcbench.util.console import err
from hpcbench.util.text import plural


def mllog_option() -> Callable[[Command], Command]:
    """Return the option `--mllog DIR`."""
    text = "Write an MLPerf log per model trained to a target accuracy to this folder."
    return click.option("--mllog", metavar="DIR", callback=not_empty, help=text)


def write_mllogs(records: list[Record], folder: str | None) -> None:
    """Write the MLPerf logs of records to a folder, if one was given, and print how many."""
    if folder is None:
        return
    from hpcbench.report.export import mllog

    written = mllog.write(records, Path(folder))
    text = f"wrote {plural(len(written), 'MLPerf log')} to {folder}"
    err.print(text if written else "no MLPerf logs: no run trained to a target accuracy", markup=False, soft_wrap=True)
