"""A job script in real bash, whose zipapp and srun are fakes that note their calls."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from hpcbench.store.sweep import Sweep

FAKE = """#!/bin/bash
shift 2  # -I node.pyz
printf '%s\\n' "$*" >> "$0.called"
case $1 in
quiet) sleep "${LOOKS_S:-0}"; printf %s "$NOISE"; exit "${QUIET_STATUS:-0}" ;;
monitor)
  [ "$MONITOR" != broken ] || exit 1
  for ((node = 0; node < ${NODES:-1}; node++)); do echo "hpcbench: watching"; done
  cat > /dev/null
  echo "monitor's end" >> "$0.called" ;;
spawn | rank)
  [ "$3" != "$STOPPED_IN" ] || kill "$PPID"
  exit "${LAUNCHER_STATUS:-0}" ;;
restarted) echo "$STILL_TO_RUN" ;;
record) read -r first rest <<< "$(cat "$0.statuses" 2> /dev/null)"; echo "$rest" > "$0.statuses"; exit "${first:-0}" ;;
esac
"""

FAKE_SRUN = """#!/bin/bash
if [ "$1" = --version ]; then echo "$SLURM_IS"; exit; fi
echo "srun $*" >> "{}.called"
while [[ $1 == -* ]]; do shift; done
exec "$@"
"""


class Around:
    """A script whose zipapp is the fake, in real bash."""

    def __init__(self, sweep: Sweep, folder: Path) -> None:
        self.sweep = sweep
        self.script = sweep.paths.script("job-001")
        self.fake = folder / "fake zipapp"
        self.fake.write_text(FAKE)
        (folder / "srun").write_text(FAKE_SRUN.format(self.fake))
        for program in (self.fake, folder / "srun"):
            program.chmod(0o755)
        text, count = re.subn(
            r"(?m)^(node|outside)=\(.*\)$", rf'\1=("{self.fake}" -I "$sweep/node.pyz")', self.script.read_text()
        )
        assert count == 2
        self.script.write_text(text)

    def records_end_with(self, *statuses: int) -> None:
        self.fake.with_name("fake zipapp.statuses").write_text(" ".join(map(str, statuses)))

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run element 0; on Slurm index 0 of array 42, of the batch that is named."""
        path = f"{self.fake.parent}:{os.environ['PATH']}"
        slurm = {"SLURM_IS": "slurm 22.05.0"}
        if self.sweep.scheduler == "local":
            arguments = ("0",)
        else:
            slurm.update(SLURM_JOB_ID="43", SLURM_ARRAY_JOB_ID="42", SLURM_ARRAY_TASK_ID="0")
        return subprocess.run(
            ["bash", str(self.script), *arguments],
            env={"PATH": path, "HOME": "/nowhere", **slurm, **environment},
            cwd=self.sweep.paths.jobs,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def called(self) -> list[str]:
        return self.fake.with_name("fake zipapp.called").read_text().splitlines()

    @property
    def sruns(self) -> list[str]:
        return [line for line in self.called if line.startswith("srun ")]

    @property
    def steps(self) -> list[str]:
        """The commands of the zipapp, in order."""
        return [line.partition(" ")[0] for line in self.called if not line.startswith("srun")]

    @property
    def ran(self) -> list[int]:
        """The elements that ran, in order."""
        return [int(line.split()[2]) for line in self.called if line.split()[0] in ("rank", "spawn")]

    def told_to_record(self, option: str) -> list[str]:
        """What every call of `record` was told by an option, up to the next one."""
        lines = [line for line in self.called if line.startswith("record")]
        return [f"{line} --".partition(f"{option} ")[2].partition(" --")[0] for line in lines]
