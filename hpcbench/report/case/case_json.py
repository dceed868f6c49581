"""A case for programs: every record of it."""

from __future__ import annotations

import json
import math
from typing import Any

from hpcbench.report.case.view import CaseView
from hpcbench.report.progress_json import run_as_json


def case_json(view: CaseView) -> str:
    """The repetitions with the record that counts of each and those of all attempts, the oldest first; no NaN."""
    document = {
        "sweep": view.sweep.paths.name,
        "case": view.planned.case_id,
        "status": view.status,
        "label": view.label,
        "parameters": view.planned.parameters,
        "tags": view.planned.tags,
        "repetitions": [
            {**run_as_json(run), "record": run.record and record, "attempts": list(run.attempts)}
            for run, record in zip(view.runs, view.records, strict=True)
        ],
    }
    return json.dumps(_finite(document), indent=1, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """The same with null for what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
