"""How fast hpcbench itself is: `make bench`. Whole processes, some runs after one warm-up, the median.

Nothing else should run meanwhile. Each figure stands beside its goal, or beside something run next to it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HPCBENCH = str(Path(sys.executable).with_name("hpcbench"))
ROOT = Path(__file__).parents[1]
CASES = 10_000
EXPERIMENT = f"""
name: large
parameters: {{framework: pytorch, model: mlp, cpus_per_task: 1}}
matrix: {{batch_size: {{range: [1, {CASES // 10}]}}, seed: {{range: [1, 10]}}}}
measure: {{repetitions: 1}}
slurm: {{time: "00:01:00"}}
"""


def timed(command: list[str], folder: Path, environment: dict[str, str], runs: int = 5) -> tuple[float, float]:
    """Median wall time in seconds and peak memory in MB of a command, after one run that does not count."""
    times, peaks = zip(*[once(command, folder, environment) for _ in range(runs + 1)], strict=True)
    return statistics.median(times[1:]), max(peaks)


def once(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Wall time in seconds and peak memory in MB of one run; the latter is never below what this process has taken."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{errors.read().decode()}")
    return seconds, used.ru_maxrss / 1024


def show(what: str, value: str, goal: str) -> None:
    print(f"{what:<58} {value:>16}   {goal}", flush=True)


def bench_startup(folder: Path, environment: dict[str, str]) -> None:
    floor, _ = timed([sys.executable, "-c", "import click"], folder, environment, runs=15)
    helped, _ = timed([HPCBENCH, "--help"], folder, environment, runs=15)
    show("hpcbench --help, beside python -c 'import click'", f"{helped / floor:.2f} x", "goal: at most 1.5 x")
    show("  in seconds", f"{helped:.3f} s", f"import click: {floor:.3f} s")


def bench_planning(folder: Path, environment: dict[str, str]) -> None:
    (folder / "large.yaml").write_text(EXPERIMENT)
    command = [HPCBENCH, "sweep", "large.yaml", "--site", "local-slurm", "--render-only"]
    seconds, megabytes = timed(command, folder, environment)
    show(f"plan, hash, render and write {CASES:,} cases", f"{seconds:.2f} s", "goal: under 3 s")
    show("  peak memory", f"{megabytes:.0f} MB", "goal: under 300 MB")


def bench_submission(folder: Path, environment: dict[str, str]) -> None:
    tool = ROOT / "tools" / "cluster"
    cluster = {**environment, "CLUSTER_DIR": "/var/lib/hpcbench-bench", "CLUSTER_PORT": "25000"}
    if subprocess.run([tool, "up"], env=cluster, capture_output=True).returncode:
        show(f"submit {CASES:,} cases to a real Slurm", "not measured", "no Slurm could be started here")
        return
    try:
        cluster["SLURM_CONF"] = "/var/lib/hpcbench-bench/slurm.conf"
        subprocess.run(["scontrol", "update", "PartitionName=cpu", "State=DOWN"], env=cluster, check=True)
        times = []
        for _ in range(4):
            times.append(once([HPCBENCH, "sweep", "large.yaml", "--site", "local-slurm"], folder, cluster)[0])
            subprocess.run(["scancel", "--me"], env=cluster, check=True)
        seconds = statistics.median(times[1:])
        show("the same, and submit as arrays to a real Slurm", f"{seconds:.2f} s", "goal: under 5 s")
        seconds, _ = timed([HPCBENCH, "status", "--json"], folder, cluster, runs=3)
        show(f"status of {CASES:,} repetitions that Slurm cancelled", f"{seconds:.2f} s", "")
    finally:
        subprocess.run([tool, "down"], env=cluster, capture_output=True)


def bench_report(folder: Path, environment: dict[str, str]) -> None:
    command = [HPCBENCH, "sweep", "large.yaml", "--site", "laptop", "--render-only", "--name", "reported"]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    write_records(folder / "jobs" / "reported", folder / "results" / "reported" / "records")
    seconds, megabytes = timed([HPCBENCH, "report", "reported", "--csv", "table.csv"], folder, environment, runs=3)
    show(f"report on {CASES:,} records of 100 samples", f"{seconds:.2f} s", "goal: under 5 s")
    show("  peak memory", f"{megabytes:.0f} MB", "")


def write_records(jobs: Path, records: Path) -> None:
    """Records as the node code writes them, with synthetic samples."""
    from hpcbench.node import planned, record, verdict, watched

    sweep = json.loads((jobs / "sweep.json").read_text())
    noise = random.Random(0)
    node = {"hostname": "n1", "cpu_model": "synthetic"}
    for job in sweep["jobs"]:
        (records / job).mkdir(parents=True)
        for element, line in enumerate((jobs / f"{job}.jsonl").read_text().splitlines()):
            times = [0.01 * noise.lognormvariate(0, 0.05) for _ in range(100)]
            samples = {"times_s": times, "windows": [[0.0, 1.0, 100]], "steps_per_sample": 1, "warmup_steps": 3}
            samples |= {"first_step_s": 0.1}
            work = {"parameter_count": 1, "flops_per_item": 2, "items_per_step": 32, "input_shape": [32, 784]}
            facts = {
                "status": "completed",
                "samples": samples,
                "work": {**work, "dtype": "float32", "math_mode": "matmul highest"},
                "threads": {"intra_op": 1, "inter_op": 1},
                "warnings": [],
                "peak_memory_bytes": 1,
            }
            rank = {"rank": 0, "facts": facts, "node": node, "exit_code": 0, "signal": None, "stopped_by": None}
            rank |= {"host": "n1", "started_at": 0.0, "ended_at": 1.0}
            outcome = verdict.Outcome("completed", None)
            seen = watched.of_repetition([rank], str(records), on_gpus=False)
            made = record.assemble(planned.parse(line), sweep, job, element, [rank], outcome, 1.0, {}, seen)
            made["attempt"] = 1
            (records / job / f"{element}.jsonl").write_text(json.dumps(made, separators=(",", ":")) + "\n")


def main() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "HPCBENCH_"))}
    folder = Path(tempfile.mkdtemp(prefix="hpcbench-bench-"))
    benches: list[Callable[[Path, dict[str, str]], None]] = [
        bench_startup,
        bench_planning,
        bench_submission,
        bench_report,
    ]
    try:
        for bench in benches:
            bench(folder, environment)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
