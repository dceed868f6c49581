"""The option `--operators`, which writes the table of the operators of profiled cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from hpcbench.analysis.results import Results
from hpcbench.commands.options.extras import require
from hpcbench.commands.shared.context import Command, not_empty
from hpcbench.errors import UserError
from hpcbench.report.export.csv_parquet import write_csv, write_parquet
from hpcbench.util.console import err
from hpcbench.util.text import plural

_WRITERS = {".csv": write_csv, ".parquet": write_parquet}


def operators_option() -> Callable[[Command], Command]:
    """Return the option `--operators FILE`. Raise UserError for another suffix than .csv and .parquet."""

    def checked(context: click.Context, option: click.Parameter, file: str | None) -> str | None:
        name = not_empty(context, option, file)
        if name is not None and Path(name).suffix not in _WRITERS:
            raise UserError(f"'{name}' does not end in {' or '.join(_WRITERS)}", where="--operators")
        if name is not None and name.endswith(".parquet"):
            require("parquet", f"--operators {name}")
        return name

    text = "Write the operator profiles of all SWEEPs to FILE (.parquet or .csv)."
    return click.option("--operators", "operators_file", metavar="FILE", callback=checked, help=text)


def write_operators(results: Results, file: str | None) -> None:
    """Write the operators of the results to a file, if one was given. Raise UserError if no case has a profile."""
    if file is None:
        return
    if results.operators.empty:
        raise UserError("no case has a profile", where="--operators", hint="make one: hpcbench profile EXPERIMENT")
    _WRITERS[Path(file).suffix](results.operators, file)
    err.print(f"wrote {plural(len(results.operators), 'row')} to {file}", soft_wrap=True, markup=False)
