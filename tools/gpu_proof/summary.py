"""Write the results: a summary in Markdown, the same as JSON, and an archive of the workspace with all records."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .steps import FAILED, NOT_RUN, PARTLY, PASSED, Ended

SUMMARY, DATA, PACKED, LOG = "summary.md", "summary.json", "workspace.tar.gz", "log.txt"
FILES = (SUMMARY, DATA, PACKED, LOG)
NODE_CODE = "/node.pyz"  # of each sweep: reports do not need it
REHEARSAL = "Rehearsal on CPUs with a mock NVML: not a test of a GPU."


def write(folder: Path, machine: Mapping[str, Any], ended: Sequence[Ended], is_rehearsal: bool) -> None:
    """Write the summary in Markdown and as JSON."""
    text = markdown(machine, ended, is_rehearsal)
    (folder / SUMMARY).write_text(text)
    data = {"rehearsal": is_rehearsal, "machine": machine, "steps": [asdict(each) for each in ended]}
    (folder / DATA).write_text(json.dumps(data, indent=1) + "\n")


def markdown(machine: Mapping[str, Any], ended: Sequence[Ended], is_rehearsal: bool) -> str:
    """Return the summary: counts, a table of all steps, and problems and evidence of each step, failed steps first."""
    counts = {
        kind: [each for each in ended if each.outcome.status == kind] for kind in (FAILED, NOT_RUN, PARTLY, PASSED)
    }
    lines = ["# hpcbench on a GPU", ""]
    lines += [f"**{REHEARSAL}**", ""] if is_rehearsal else []
    lines += [", ".join(f"{len(steps)} {kind}" for kind, steps in counts.items()) + ".", ""]
    lines += ["| step | status | s | |", "| --- | --- | ---: | --- |"]
    lines += [f"| {each.name} | {each.outcome.status} | {each.seconds:.0f} | {each.title} |" for each in ended]
    lines += ["", "Machine: " + "; ".join(f"{name} {value}" for name, value in machine.items())]
    for kind, steps in counts.items():
        for each in steps:
            lines += ["", f"## {each.name}: {kind}", ""]
            lines += [f"- **{_line(text)}**" for text in each.outcome.problems]
            lines += [f"- {_line(text)}" for text in each.outcome.evidence]
    return "\n".join(lines) + "\n"


def pack(folder: Path, workspace: Path) -> None:
    """Pack the workspace, from which `hpcbench report` can later make tables and pages."""
    part = folder / (PACKED + ".part")
    with tarfile.open(part, "w:gz", compresslevel=6) as archive:
        archive.add(workspace, "workspace", filter=lambda file: None if file.name.endswith(NODE_CODE) else file)
    part.replace(folder / PACKED)


def _line(text: str) -> str:
    return " ".join(text.split())
