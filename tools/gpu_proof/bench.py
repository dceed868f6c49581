"""What all steps share: the machine, a workspace of hpcbench, and logged commands with a deadline."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent
GRACE_S = 15.0  # for hpcbench to end the current run and write its record
MOST_CPUS = 8
# Runs are short: the steps check that they work and what their records contain, not how fast they are.
BRIEF = {
    "repetitions": 1,
    "retries": 0,
    "min_measurements": 5,
    "min_time_s": 0.3,
    "max_time_s": 0.5,
    "max_warmup_s": 0.5,
}

Record = dict[str, Any]


@dataclass(frozen=True)
class Done:
    """A command that ended; `status` is None if it was stopped at its deadline."""

    status: int | None
    output: str

    @property
    def last_line(self) -> str:
        """Return the last line of its output."""
        return (self.output.strip().splitlines() or ["it printed nothing"])[-1]


@dataclass
class Bench:
    """The machine that is tested, and the workspace of the tests."""

    python: str  # a Python with hpcbench and torch
    workspace: Path
    log: Path
    device: str  # gpu; cpu in a rehearsal
    modules: frozenset[str]  # that this Python can import
    may_change_clocks: bool = False
    sweeps: list[str] = field(default_factory=list)  # sweeps with records, in order
    compiling: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)  # by model

    @property
    def is_rehearsal(self) -> bool:
        """Return whether the models run on CPUs, next to a mock NVML."""
        return self.device == "cpu"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of all commands: the first visible GPU, as CUDA and NVML count."""
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        chosen = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": first, "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **chosen, "HPCBENCH_SITE": str(self.workspace / "site.yaml")}

    def start(self, words: Sequence[str], output: IO[bytes] | int, **variables: str) -> subprocess.Popen[bytes]:
        """Start a command in the workspace, in a process group of its own."""
        return subprocess.Popen(
            list(words),
            cwd=self.workspace,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, words: Sequence[str], deadline_s: float, **variables: str) -> Done:
        """Run a command and log its output. After the deadline, interrupt it as Ctrl-C does, then kill it."""
        output = self.log.with_name("output")
        with output.open("wb") as file:
            process = self.start(words, file, **variables)
            status = stopped(process, deadline_s)
        text = output.read_text(errors="replace")
        output.unlink()
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(map(str, words))}\n{text}\n[status {status}]\n\n")
        return Done(status, text)

    def hpcbench(self, *arguments: str, deadline_s: float) -> Done:
        """Run hpcbench in the workspace."""
        return self.run([self.python, "-m", "hpcbench", *arguments], deadline_s)

    def program(self, name: str, *arguments: str) -> list[str]:
        """Return the command of one of the programs next to this file."""
        own_folder_off = ["-P"] if sys.version_info >= (3, 11) else []  # names of its modules may hide others
        return [self.python, *own_folder_off, str(PROGRAMS / f"{name}.py"), *arguments]

    def sweep(
        self, name: str, experiment: Mapping[str, Any], deadline_s: float, *options: str
    ) -> tuple[list[Record], Done]:
        """Run a sweep on this machine; return its records at the deadline, and how the command ended."""
        cpus = 1 if self.is_rehearsal else min(MOST_CPUS, len(os.sched_getaffinity(0)))
        parameters = {"device": self.device, "cpus_per_task": cpus}
        whole = {"name": name, "measure": BRIEF, **experiment}
        whole["parameters"] = {"framework": "pytorch", **parameters, **experiment.get("parameters", {})}
        file = self.workspace / f"{name}.yaml"
        file.write_text(json.dumps(whole, indent=1))  # JSON is YAML
        done = self.hpcbench("sweep", str(file), "--local", "--name", name, *options, deadline_s=deadline_s - GRACE_S)
        found = self.records(name)
        self.sweeps += [name] if found else []
        return found, done

    def records(self, sweep: str) -> list[Record]:
        """Return the records of a sweep."""
        files = sorted((self.workspace / "results" / sweep / "records").rglob("*.jsonl"))
        lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
        return [json.loads(line) for line in lines]


def stopped(process: subprocess.Popen[bytes], deadline_s: float) -> int | None:
    """Wait for a process; after the deadline, interrupt it, then kill its group. Return its status, None if stopped."""
    try:
        return process.wait(max(deadline_s - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    finally:  # also if this program is interrupted
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return None
