"""Print the state of a sweep as JSON, or the next command: for sweep and resume."""

from __future__ import annotations

import datetime
from typing import Any

from hpcbench.commands.options.outputs import STDOUT
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.status_json import as_json
from hpcbench.status.query import or_records, query
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import err
from hpcbench.util.exit_status import SUCCESS


def print_state(sweep: Sweep, **more: Any) -> None:
    """Print the state of a sweep as JSON, with further keys."""
    progress = or_records(query, sweep)
    write_text(json_text({**as_json(progress, datetime.datetime.now().astimezone()), **more}), STDOUT)


def print_next(sweep: Sweep, status: int) -> None:
    """Print the next command: `report` if all runs completed, otherwise `status`."""
    command = "report" if status == SUCCESS else "status"
    err.print(f"next: hpcbench {command} {sweep.paths.name}", soft_wrap=True, markup=False)
