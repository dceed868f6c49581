"""How fast hpcbench itself is: `make bench`. Whole processes, some runs after one warm-up, the median.

Nothing else should run meanwhile. Each figure stands beside its goal, or beside something run next to it.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calls import Calls
from measuring import HPCBENCH, Cost, clean_environment, once, show, timed
from virtual_cluster import NoSlurmError, partition, virtual_cluster

from hpcbench.core import run_spec
from hpcbench.core.record import Record, RecordKey
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import monitor_summary, outcome, record_writer

CASES = 10_000
EXPERIMENT = f"""
name: large
parameters: {{framework: pytorch, model: mlp, cpus_per_task: 1}}
matrix: {{batch_size: {{range: [1, {CASES // 10}]}}, seed: {{range: [1, 10]}}}}
measure: {{repetitions: 1}}
slurm: {{time: "00:01:00"}}
"""
NOTHING_RUNS = (5, 45)  # the first of a sweep also starts the driver of its job
NOTHING = """
name: nothing
parameters: {{framework: command, command: "true", cpus_per_task: 1}}
measure: {{repetitions: {runs}, retries: 0}}
slurm: {{time: "00:05:00"}}
"""


def bench_startup(folder: Path, environment: dict[str, str]) -> None:
    floor = timed([sys.executable, "-c", "import click"], folder, environment, runs=15).seconds
    helped = timed([HPCBENCH, "--help"], folder, environment, runs=15).seconds
    show("hpcbench --help, beside python -c 'import click'", f"{helped / floor:.2f} x", "goal: at most 1.5 x")
    show("  in seconds", f"{helped:.3f} s", f"import click: {floor:.3f} s")


def bench_planning(folder: Path, environment: dict[str, str]) -> None:
    (folder / "large.yaml").write_text(EXPERIMENT)
    command = [HPCBENCH, "sweep", "large.yaml", "--site", "local-slurm", "--render-only"]
    seconds, _, megabytes = timed(command, folder, environment)
    show(f"plan, hash, render and write {CASES:,} cases", f"{seconds:.2f} s", "goal: under 3 s")
    show("  peak memory", f"{megabytes:.0f} MB", "goal: under 300 MB")


def bench_submission(folder: Path, environment: dict[str, str]) -> None:
    try:
        with virtual_cluster("/var/lib/hpcbench-bench", 25000, environment) as cluster:
            submit(folder, Calls(folder, cluster))
    except NoSlurmError as error:
        show(f"submit {CASES:,} cases to a real Slurm", "not measured", f"no Slurm could be started here: {error}")


def submit(folder: Path, calls: Calls) -> None:
    """To a partition that starts nothing."""
    cluster = calls.environment
    partition("DOWN", cluster)
    times = []
    for number in range(4):
        subprocess.run(["scancel", "--me"], env=cluster, check=True)
        calls.taken()
        command = [HPCBENCH, "sweep", "large.yaml", "--site", "local-slurm", "--name", f"submitted-{number}"]
        times.append(once(command, folder, cluster).seconds)
    show("the same, and submit as arrays to a real Slurm", f"{statistics.median(times[1:]):.2f} s", "goal: under 5 s")
    show("  calls of sbatch", f"{calls.taken()['sbatch']}", "goal: under 20")
    bench_status(folder, calls, "submitted-3", "of jobs that wait")
    subprocess.run(["scancel", "--me"], env=cluster, check=True)
    bench_status(folder, calls, "submitted-3", "that Slurm cancelled")


def bench_status(folder: Path, calls: Calls, sweep: str, what: str) -> None:
    cost = timed([HPCBENCH, "status", sweep], folder, calls.environment, runs=3)
    asked = calls.taken()
    show_status(what, cost, f"; {asked['squeue'] / 4:g} squeue and {asked['sacct'] / 4:g} sacct each")


def show_status(what: str, cost: Cost, note: str = "") -> None:
    goal = f"goal: under 1.5 s of CPU time: {cost.cpu_s:.2f} s{note}"
    show(f"status of {CASES:,} repetitions {what}", f"{cost.seconds:.2f} s", goal)
    show("  peak memory", f"{cost.megabytes:.0f} MB")


def bench_report(folder: Path, environment: dict[str, str]) -> None:
    command = [HPCBENCH, "sweep", "large.yaml", "--site", "laptop", "--render-only", "--name", "reported"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    write_records(folder / "jobs" / "reported", folder / "results" / "reported" / "records")
    seconds, _, megabytes = timed([HPCBENCH, "report", "reported", "--csv", "table.csv"], folder, environment, runs=3)
    show(f"report on {CASES:,} records of 100 samples", f"{seconds:.2f} s", "goal: under 3 s")
    show("  peak memory", f"{megabytes:.0f} MB")
    show_status("with such records", timed([HPCBENCH, "status", "reported"], folder, environment, runs=3))


def bench_runs(folder: Path, environment: dict[str, str]) -> None:
    """A local sweep of a command that does nothing: by how much many runs take longer than few."""
    for runs in NOTHING_RUNS:
        (folder / f"nothing-{runs}.yaml").write_text(NOTHING.format(runs=runs))
    python = [sys.executable, "-I", "-c", "pass"]
    overheads, ratios = [], []
    for _ in range(6):
        few, many = (once(sweep_of_nothing(folder, runs), folder, environment) for runs in NOTHING_RUNS)
        each_s = (many.seconds - few.seconds) / (NOTHING_RUNS[1] - NOTHING_RUNS[0])
        started_s = statistics.median(once(python, folder, environment).seconds for _ in range(5))
        overheads.append(each_s)
        ratios.append(each_s / started_s)
    spread = f"{1000 * min(overheads[1:]):.0f} to {1000 * max(overheads[1:]):.0f} ms; goal: at most 60 ms"
    show("overhead of a run that does nothing", f"{1000 * statistics.median(overheads[1:]):.0f} ms", spread)
    spread = f"{min(ratios[1:]):.1f} to {max(ratios[1:]):.1f} x"
    show("  compared to python -I -c pass", f"{statistics.median(ratios[1:]):.1f} x", spread)


def sweep_of_nothing(folder: Path, runs: int) -> list[str]:
    """The command that sweeps so many runs, after those of an earlier one have been removed."""
    for room in ("jobs", "results"):
        shutil.rmtree(folder / room / "nothing", ignore_errors=True)
    return [HPCBENCH, "sweep", f"nothing-{runs}.yaml", "--site", "laptop", "--name", "nothing"]


def write_records(jobs: Path, records: Path) -> None:
    """Records of a local sweep as the node code writes them."""
    sweep = json.loads((jobs / "sweep.json").read_text())
    noise = random.Random(0)
    for job in sweep["jobs"]:
        (records / job).mkdir(parents=True)
        with (records / job / "local.jsonl").open("w") as file:
            for element, line in enumerate((jobs / f"{job}.jsonl").read_text().splitlines()):
                made = synthetic(run_spec.parse(line), sweep, RecordKey(job, element, job, 1), noise)
                file.write(json.dumps(to_json(made), separators=(",", ":")) + "\n")


def synthetic(run: run_spec.PlannedRun, sweep: dict[str, Any], key: RecordKey, noise: random.Random) -> Record:
    """The record of a repetition with made-up samples."""
    times = [0.01 * noise.lognormvariate(0, 0.05) for _ in range(100)]
    samples = {"times_s": times, "windows": [[0.0, 1.0, 100]], "steps_per_measurement": 1, "warmup_steps": 3}
    work = {"parameter_count": 1, "flops_per_item": 2, "items_per_step": 32, "input_shapes": {"input": [32, 784]}}
    facts = {
        "status": "completed",
        "measurements": {**samples, "first_step_s": 0.1},
        "work": {**work, "dtype": "float32", "math_mode": "matmul highest"},
        "threads": {"intra_op": 1, "inter_op": 1},
        "warnings": [],
        "peak_memory_bytes": 1,
    }
    node = {"hostname": "n1", "cpu_model": "synthetic"}
    rank = {"rank": 0, "facts": facts, "node": node, "exit_code": 0, "signal": None, "stopped_by": None}
    rank |= {"host": "n1", "started_at": 0.0, "ended_at": 1.0}
    monitored = monitor_summary.of_run([rank], "no-timeline", on_gpus=False)
    return record_writer.assemble(run, sweep, key, [rank], outcome.Outcome("completed", None), 1.0, {}, monitored)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()  # for --help
    environment = clean_environment()
    folder = Path(tempfile.mkdtemp(prefix="hpcbench-bench-"))
    benches: list[Callable[[Path, dict[str, str]], None]] = [
        bench_startup,
        bench_planning,
        bench_submission,
        bench_report,
        bench_runs,
    ]
    try:
        for bench in benches:
            bench(folder, environment)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
