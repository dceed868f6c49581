"""Check that hpcbench detects another process on the GPU, and only if there is one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import energy
from .bench import Bench, Record, stopped
from .models import options, problems_of, without_record
from .steps import Outcome, judged, not_run

SWEEP = "foreign"
MEASURED_S = 6.0  # the monitor lists the GPU's processes every second
START_S = 40.0
COLUMN = "gpu0.foreign_processes"


def foreign_process(bench: Bench, deadline_s: float) -> Outcome:
    """Measure a small model while load.py works on the same GPU."""
    output = bench.workspace / "load.log"
    with output.open("wb") as log:
        load = bench.start(bench.program("load", "cpu" if bench.is_rehearsal else "cuda"), log)
        try:
            if not _is_ready(load, output, min(time.monotonic() + START_S, deadline_s)):
                return judged([], [f"the other process did not start: {output.read_text()[-300:]}"])
            listed = bench.run(bench.program("probe", "once"), deadline_s)
            records, done = bench.sweep(SWEEP, _experiment(bench), deadline_s)
        finally:
            load.terminate()
            stopped(load, time.monotonic() + 5)
    missing = without_record(records, done)
    if missing:
        return missing
    alone = bench.records(energy.SWEEP) if energy.SWEEP in bench.sweeps else []
    return noticed(records[0], alone[0] if alone else None, load.pid, listed.output, bench.is_rehearsal)


def _experiment(bench: Bench) -> dict[str, Any]:
    parameters = {"model": "mlp", "model_options": options(bench, "mlp"), "task": "inference", "batch_size": 64}
    measure = {"repetitions": 1, "retries": 0, "max_warmup_s": 1.0, "min_time_s": MEASURED_S, "max_time_s": MEASURED_S}
    return {"parameters": parameters, "measure": measure}


def _is_ready(load: subprocess.Popen[bytes], output: Path, deadline_s: float) -> bool:
    while time.monotonic() < deadline_s and load.poll() is None:
        if "ready" in output.read_text():
            return True
        time.sleep(0.2)
    return False


def noticed(record: Record, alone: Record | None, pid: int, listed: str, on_cpu: bool) -> Outcome:
    """Return whether the record of a run next to another process shows this process, and that of a run alone does not.

    `listed` is NVML's list during the run. Evidence on GPUs affects the verdict only for runs on GPUs.
    """
    problems = problems_of([record], on_cpu)
    if problems:
        return judged([], problems)
    shown = record["monitors"][0]["usage"].get(COLUMN)
    evidence = [f"process {pid} in NVML's list: {f'[{pid},' in listed}"]
    if shown is None:
        absent = record["monitors"][0]["absent"].get("nvidia_processes")
        reason = absent or "the driver reports process IDs of another PID namespace"
        unseen = ", ".join(record["interference"]["unseen"])
        return not_run(
            f"other processes cannot be detected here: {reason}; unmonitored in the record: {unseen}", evidence
        )
    evidence.append(f"other processes, minimum, mean, maximum: {readings_of(shown)}")
    found = [each for each in record["interference"]["found"] if "gpu" in each["causes"]]
    evidence += [f"interference: {each['what']} in {each['windows']} windows" for each in found]
    if shown[2] < 1:
        problems.append("the other process was not counted")
    elif not found and not on_cpu:
        problems.append("the other process was counted, but is not in the record's interference")
    if alone is not None and alone["monitors"]:
        before = alone["monitors"][0]["usage"].get(COLUMN)
        evidence.append(f"in the run alone: {readings_of(before) if before else 'not read'}")
        problems += ["other processes were counted in the run alone"] if before and before[2] else []
    return judged(evidence, problems)


def readings_of(values: Sequence[float]) -> str:
    """Return minimum, mean and maximum as text."""
    return ", ".join(f"{value:g}" for value in values)
