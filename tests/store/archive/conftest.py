"""The files of a sweep, small enough to be written by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.store.workspace import SweepPaths, Workspace

FILES = {
    "jobs/s/sweep.json": "{}",
    "jobs/s/job-001.sh": "#!/bin/bash\n",
    "jobs/s/logs/job-001/1_0_0_log.out": "said\n",
    "results/s/records/job-001/0.jsonl": '{"status": "completed"}\n',
    "results/s/nodes/ab/n1.json": "{}\n",
}
LEFT = {
    "jobs/s/.lock": "",
    "results/s/running/job-001-0-1-1/rank-0.json": "{}",
    "results/s/nodes/ab/n2.json.n2-7.part": "{",
}


@pytest.fixture
def paths(tmp_path: Path) -> SweepPaths:
    """Of a sweep called s, with what stays behind: locks, what runs, what is half written."""
    for name, text in {**FILES, **LEFT}.items():
        file = tmp_path / "workspace" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return Workspace(tmp_path / "workspace").paths("s")
