"""A sweep whose hpcbench is killed again and again, at moments that nobody chose, until a last `resume` may end."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JOBS, ELEMENTS, MOST_KILLS = 3, 2, 5
PATIENCE_S = 120.0
# The real sbatch, a little late: so that more of the moments fall between its steps.
SLOW_SBATCH = """#!/bin/bash
sleep 0.$((RANDOM % 3))$((RANDOM % 10))
{sbatch} "$@"
status=$?
sleep 0.$((RANDOM % 3))$((RANDOM % 10))
exit $status
"""


@dataclass
class Tally:
    """What came of all rounds. The last three must stay zero."""

    kills: int = 0
    sweeps: int = 0
    lost: int = 0
    double: int = 0
    hung: int = 0
    details: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = f"{self.kills} kills in {self.sweeps} sweeps: {self.lost} lost, {self.double} double, {self.hung} hung"
        return "\n".join([told, *self.details])


def slow_sbatch(folder: Path) -> str:
    """A PATH on which sbatch takes its time."""
    folder.mkdir()
    script = folder / "sbatch"
    script.write_text(SLOW_SBATCH.format(sbatch=shutil.which("sbatch")))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return f"{folder}:{os.environ['PATH']}"


def play(command_line: Any, kills: int, seed: int, path: str) -> Tally:
    """Rounds until so many kills have been dealt."""
    chance, tally = random.Random(seed), Tally()
    experiment = command_line.experiment(
        "killed",
        parameters={"framework": "command", "command": "echo {{ seed }}", "seed": 0},
        matrix={"seed": {"range": [1, JOBS]}},
        measure={"repetitions": ELEMENTS},
        slurm={"time": "00:0{{ seed }}:00", "mem": "100M"},
    )
    content = json.loads((command_line.workspace / experiment).read_text())
    for name in ("model", "model_options"):
        del content["parameters"][name]
    (command_line.workspace / experiment).write_text(json.dumps(content))
    while tally.kills < kills:
        name = f"killed-{seed}-{tally.sweeps}"
        _round(command_line, chance, tally, experiment, name, path)
        _judge(command_line, tally, name)
        tally.sweeps += 1
    return tally


def _round(command_line: Any, chance: random.Random, tally: Tally, experiment: str, name: str, path: str) -> None:
    variables = {"PATH": path}
    packed = ("--set", "slurm.pack_walltime=01:00:00") if tally.sweeps % 2 else ()
    sweep, resume = ("sweep", experiment, "--name", name, *packed), ("resume", name)
    for _ in range(chance.randint(1, MOST_KILLS)):
        words = resume if _exists(command_line, name) else sweep
        process = command_line.start(*words, env=variables)
        try:
            process.communicate(timeout=chance.uniform(0.1, 2.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            tally.kills += 1
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        words = (*resume, "--wait") if _exists(command_line, name) else (*sweep, "--wait")
        done = command_line(*words, expect=None, env=variables)
        if done.returncode == 0:
            return
        time.sleep(0.5)  # an sbatch that outlived its hpcbench still holds the lock
    tally.hung += 1
    tally.details.append(f"{name}: {done.stderr}")


def _exists(command_line: Any, name: str) -> bool:
    return (command_line.workspace / "jobs" / name / "sweep.json").exists()


def _judge(command_line: Any, tally: Tally, name: str) -> None:
    """Each run has one record, and was in one array: neither the records nor Slurm know a second."""
    files = (command_line.workspace / "results" / name / "records").rglob("*.jsonl")
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    recorded = Counter((record["job"], record["element"]) for record in records)
    packs = [file for file in (command_line.workspace / "jobs" / name / "packs").iterdir() if "." in file.name]
    ids = _ids(command_line, name)
    for job in range(1, JOBS + 1):
        for element in range(ELEMENTS):
            count = recorded[f"job-{job:03d}", element]
            tally.lost += count == 0
            tally.double += count > 1
    known = {file.name for file in packs if f"{name}.{file.name}" in ids}
    submitted = Counter(file.partition(".")[0] for file in known)
    tally.double += sum(count - 1 for count in submitted.values())
    if set(recorded.values()) != {1} or set(submitted.values()) != {1}:
        tally.details.append(f"{name}: {recorded} {submitted}")


def _ids(command_line: Any, name: str) -> set[str]:
    """The names of all arrays of a sweep that Slurm has ever had."""
    listed = ["squeue", "--noheader", "--states=all", "--format=%j"]  # it knows them for five minutes
    done = subprocess.run(listed, env=command_line.variables, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if line.startswith(f"{name}.")}
