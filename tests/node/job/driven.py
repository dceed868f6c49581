"""A job's script in real bash with the real driver, monitors and ranks; srun is a fake that notes its calls."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from hpcbench.store.sweep import Sweep

FAKE_SRUN = """#!/bin/bash
if [ "$1" = --version ]; then echo "$SLURM_IS"; exit; fi
echo "srun $*" >> "{called}"
for word; do [ "$word" != --overlap ] || every=p; done
while [[ $1 == -* ]]; do shift; done
# A step on two nodes answers twice.
if [ "$every" ] && [ "$NODES" = 2 ]; then "$@" | sed -u p; else exec "$@"; fi
"""


class Driven:
    """A sweep of one job, whose script runs here."""

    def __init__(self, sweep: Sweep, folder: Path) -> None:
        self.sweep = sweep
        self.script = sweep.paths.script("job-001")
        self._called = folder / "called"
        self.srun = folder / "bin" / "srun"
        self.srun.parent.mkdir()
        self.srun.write_text(FAKE_SRUN.format(called=self._called))
        self.srun.chmod(0o755)

    def environment(self, **variables: str) -> dict[str, str]:
        """What the script finds: on Slurm index 0 of array 42."""
        slurm = {"SLURM_IS": "slurm 22.05.0"}
        if self.sweep.scheduler == "slurm":
            slurm.update(SLURM_JOB_ID="43", SLURM_ARRAY_JOB_ID="42", SLURM_ARRAY_TASK_ID="0")
        return {"PATH": f"{self.srun.parent}:{os.environ['PATH']}", "HOME": "/nowhere", **slurm, **variables}

    def words(self, *arguments: str) -> list[str]:
        """The command that runs the script: element 0 on this machine, or the batch that is named."""
        return ["bash", str(self.script), *(("0",) if self.sweep.scheduler == "local" else arguments)]

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script to its end; its output is its log."""
        index = variables.get("SLURM_ARRAY_TASK_ID", "0")
        batch = arguments[0] if arguments else "job-001"
        log = self.sweep.paths.log(batch, int(index), "42")
        if not log.parent.is_dir():
            log.parent.mkdir(parents=True)
        with log.open("ab") as output:
            done = subprocess.run(
                self.words(*arguments),
                env=self.environment(
                    **({} if self.sweep.scheduler == "slurm" else {"HPCBENCH_LOG": str(log)}), **variables
                ),
                cwd=self.sweep.paths.jobs.parents[1],
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
            )
        return subprocess.CompletedProcess(done.args, done.returncode, log.read_text())

    @property
    def sruns(self) -> list[str]:
        """The calls of srun, in order."""
        return self._called.read_text().splitlines() if self._called.exists() else []

    @property
    def records(self) -> list[dict[str, Any]]:
        """All records, by file."""
        files = sorted((self.sweep.paths.results / "records").glob("*/*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    @property
    def ran(self) -> list[int]:
        """The elements that were recorded, in the order in which they began."""
        return [record["element"] for record in sorted(self.records, key=lambda record: record["started_at"])]
