"""How long `hpcbench history` takes over 1,000 sweeps: `make bench`, a minute. Nothing else should run meanwhile."""

from __future__ import annotations

import argparse
import datetime
import json
import random
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from measuring import HPCBENCH, clean_environment, once, show
from run import synthetic

from hpcbench.core import run_spec
from hpcbench.core.record import Record, RecordKey
from hpcbench.core.typed_json import to_json

SWEEPS, RUNS = 1000, 5
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
EXPERIMENT = """
name: nightly
parameters: {framework: pytorch, model: mlp, cpus_per_task: 1}
matrix: {batch_size: [8, 16, 32, 64]}
measure: {repetitions: 6}
slurm: {time: "00:01:00"}
"""


def write_sweeps(folder: Path, count: int, environment: dict[str, str]) -> None:
    """One sweep is planned; the records of all are written, of one sweep a day."""
    (folder / "nightly.yaml").write_text(EXPERIMENT)
    command = [HPCBENCH, "sweep", "nightly.yaml", "--site", "laptop", "--render-only", "--name", "planned"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    jobs = folder / "jobs" / "planned"
    description = json.loads((jobs / "sweep.json").read_text())
    noise = random.Random(0)
    for number in range(count):
        name, day = f"nightly-{number:04}", BEGIN + datetime.timedelta(days=number)
        for job in description["jobs"]:
            path = folder / "results" / name / "records" / job / "local.jsonl"
            path.parent.mkdir(parents=True)
            runs = map(run_spec.parse, (jobs / f"{job}.jsonl").read_text().splitlines())
            made = [_made(run, {**description, "name": name}, job, day, noise) for run in enumerate(runs)]
            path.write_text("".join(json.dumps(to_json(each), separators=(",", ":")) + "\n" for each in made))


def _made(
    run: tuple[int, run_spec.PlannedRun],
    description: dict[str, Any],
    job: str,
    day: datetime.datetime,
    noise: random.Random,
) -> Record:
    made = synthetic(run[1], description, RecordKey(job, run[0], job, 1), noise)
    at = (day + datetime.timedelta(minutes=run[0])).isoformat(timespec="milliseconds")
    return replace(made, started_at=at, ended_at=at)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=SWEEPS)
    count: int = parser.parse_args().sweeps
    environment = clean_environment()
    folder = Path(tempfile.mkdtemp(prefix="hpcbench-history-"))
    try:
        write_sweeps(folder, count, environment)
        command = [HPCBENCH, "history", "nightly"]
        # 1: the noise may look like a change
        costs = [once(command, folder, environment, good=(0, 1)) for _ in range(RUNS + 1)][1:]
        median = sorted(costs)[RUNS // 2]
        what = f"history of {count:,} sweeps of 4 cases x 6 repetitions x 100 samples"
        show(what, f"{median.seconds:.2f} s", f"goal: under 3 s; {median.cpu_s:.2f} s of CPU")
        show("  peak memory", f"{max(cost.megabytes for cost in costs):.0f} MB")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
