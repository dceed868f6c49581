"""Print the state of a sweep as JSON: for sweep and resume."""

from __future__ import annotations

import datetime
from typing import Any

from hpcbench.commands.options.outputs import STDOUT
from hpcbench.report.export.atomic_files import write_text
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.status_json import as_json
from hpcbench.status.query import or_records, query
from hpcbench.store.sweep import Sweep


def print_state(sweep: Sweep, **more: Any) -> None:
    """Print the state of a sweep as JSON, with further keys."""
    progress = or_records(query, sweep)
    write_text(json_text({**as_json(progress, datetime.datetime.now().astimezone()), **more}), STDOUT)
