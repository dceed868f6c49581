"""Print the state of a sweep as JSON, or write its table of operators and print the next command: for sweep, resume."""

from __future__ import annotations

import datetime
from typing import Any

from hpcbench.commands.options.extras import missing_packages
from hpcbench.commands.options.outputs import STDOUT
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.status_json import as_json
from hpcbench.status.query import or_records, query
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import err, print_warning
from hpcbench.util.exit_status import SUCCESS
from hpcbench.util.extras import install_hint
from hpcbench.util.text import plural


def print_state(sweep: Sweep, **more: Any) -> None:
    """Print the state of a sweep as JSON, with further keys."""
    progress = or_records(query, sweep)
    write_text(json_text({**as_json(progress, datetime.datetime.now().astimezone()), **more}), STDOUT)


def print_next(sweep: Sweep, status: int) -> None:
    """Print the next command: `report` if all runs completed, otherwise `status`. Write operators.parquet before."""
    if sweep.description["experiment"]["measure"].get("profile"):
        _write_operators(sweep)
    command = "report" if status == SUCCESS else "status"
    err.print(f"next: hpcbench {command} {sweep.paths.name}", soft_wrap=True, markup=False)


def _write_operators(sweep: Sweep) -> None:
    """Write the operators of the finished runs to operators.parquet in the results, and print its path."""
    # Most sweeps have no profile, and need neither.
    from hpcbench.collect.profiles.table import operator_table
    from hpcbench.report.export.csv_parquet import write_parquet
    from hpcbench.report.load.profiles import lines_left_out

    if missing_packages("parquet"):
        print_warning(f"operators.parquet is not written: it requires pyarrow; {install_hint('report')}")
        return
    records = [run.record for run in or_records(query, sweep).runs if run.record]
    table = operator_table(sweep.paths, records)
    if table.damaged:
        print_warning(lines_left_out(table.damaged))
    if table.frame.empty:
        print_warning("no run has a profile of its operators")
        return
    file = str(sweep.paths.operator_table)
    write_parquet(table.frame, file)  # replaces it atomically
    err.print(f"wrote {plural(len(table.frame), 'operator row')} to {file}", soft_wrap=True, markup=False)
