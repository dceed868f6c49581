"""The files of a small job of doctor: its script, from a template, its log, and its results as lines of JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import hpcbench
from hpcbench.errors import UserError
from hpcbench.plan.packing import Resources
from hpcbench.store.workspace import Workspace
from hpcbench.submit.script import checked, resource_options
from hpcbench.submit.template import Template

NAME = "hpcbench-doctor"
_ARRAY = "array=0"  # an array of one element: one squeue lists many arrays


def write_job_script(workspace: Workspace, template: str, script: Path, resources: Resources, **values: Any) -> None:
    """Render a template with these values into the script of a job; the job writes its log into the same folder.

    Raise UserError if the workspace's template cannot be used.
    """
    options = [
        f"job-name={NAME}",
        f"output={script.with_suffix('.log')}",
        _ARRAY,
        "no-requeue",
        *resource_options(resources, resources.slurm.time),
    ]
    shared = {"version": hpcbench.__version__, "folder": script.parent, "name": script.stem, "outside": sys.executable}
    try:
        text = Template.find(workspace, template).render(options=checked(options), **shared, **values)
    except ValueError as error:
        raise UserError(f"the script cannot be written: {error}", where=str(script)) from error
    script.write_text(text, encoding="utf-8")


def last_lines_of_log(script: Path, count: int = 5) -> str:
    """Return the last lines that a job printed, separated by slashes, or `it printed nothing`."""
    try:
        lines = script.with_suffix(".log").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return " / ".join(line.strip() for line in lines[-count:] if line.strip()) or "it printed nothing"


def json_lines(file: Path) -> list[dict[str, Any]]:
    """Return the JSON objects in a file, one per line, without other output of the job and incomplete lines."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
