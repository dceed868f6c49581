"""A case with all of its records as JSON, for programs."""

from __future__ import annotations

from hpcbench.core.typed_json import to_json
from hpcbench.report.export.json_text import json_text
from hpcbench.report.export.status_json import run_as_json
from hpcbench.report.terminal.case.view import CaseView


def case_json(view: CaseView) -> str:
    """Return the runs of a case with valid record and attempts, oldest first, as JSON; null for NaN."""
    document = {
        "sweep": view.sweep.paths.name,
        "case": view.planned.case_id,
        "status": view.status,
        "label": view.label,
        "parameters": view.planned.parameters,
        "user_parameters": view.planned.user_parameters,
        "runs": [
            {**run_as_json(run), "record": run.record and to_json(record), "attempts": to_json(run.attempts)}
            for run, record in zip(view.runs, view.records, strict=True)
        ],
    }
    return json_text(document)
