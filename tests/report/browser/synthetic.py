"""Records of models on a machine that does not exist, as the node code writes them, of a sweep that was rendered."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hpcbench.core import run_spec
from hpcbench.core.energy import Energy
from hpcbench.core.record import Interference, MonitorSummary, Record, RecordKey
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import monitor_summary, record_writer
from hpcbench.node.results.outcome import Outcome

SAMPLES = 40
_NOISE_S = 0.02  # part of a step


def write(workspace: Path, name: str) -> None:
    """Of each planned run; a case whose tag `mood` is `broken` fails."""
    jobs, records = workspace / "jobs" / name, workspace / "results" / name / "records"
    sweep, noise = json.loads((jobs / "sweep.json").read_text()), random.Random(name)
    for job in sweep["jobs"]:
        (records / job).mkdir(parents=True)
        with (records / job / "local.jsonl").open("w") as file:
            for element, line in enumerate((jobs / f"{job}.jsonl").read_text().splitlines()):
                made = _record(run_spec.parse(line), sweep, RecordKey(job, element, job, 1), noise)
                file.write(json.dumps(to_json(made)) + "\n")


def _record(run: run_spec.PlannedRun, sweep: Any, key: RecordKey, noise: random.Random) -> Record:
    given = run.parameters
    step_s = _step_s(given)
    times = [step_s * noise.lognormvariate(0, _NOISE_S) for _ in range(SAMPLES)]
    half, length = SAMPLES // 2, sum(times)
    facts = {
        "status": "completed",
        "measurements": {
            "times_s": times,
            "windows": [[0.0, length / 2, half], [length / 2, length, SAMPLES - half]],
            "steps_per_measurement": 1,
            "warmup_steps": 3,
            "first_step_s": 1.0,
        },
        "work": {
            "parameter_count": {"mlp": 1_863_690, "lstm": 4_214_794}.get(given["model"], 25_557_032),
            "flops_per_item": 10**7,
            "items_per_step": given["batch_size"] * run.tasks,
            "input_shapes": {"input": [given["batch_size"], 784]},
            "dtype": given["dtype"],
            "math_mode": "matmul highest",
        },
        "threads": {"intra_op": given["intra_op_threads"] or 1, "inter_op": given["inter_op_threads"] or 1},
        "framework_version": "2.13.0",
        "peak_memory_bytes": 2**30,
        "warnings": [],
    }
    broken = run.user_parameters.get("mood") == "broken"
    ranks = [_rank(number, None if broken else facts, length) for number in range(run.tasks)]
    outcome = Outcome("completed", None)
    if broken:
        error = {"type": "RuntimeError", "message": "</script><img src=x onerror=alert(1)> broke", "last_lines": []}
        outcome = Outcome("failed", error)
    seen = monitor_summary.Monitored() if broken else _seen(step_s, length, given)
    return record_writer.assemble(run, sweep, key, ranks, outcome, length, {}, seen)


def _step_s(given: dict[str, Any]) -> float:
    """More threads and nodes do more, and less so the more there are."""
    threads, inter = given["intra_op_threads"] or 1, given["inter_op_threads"] or 1
    work = given["batch_size"] * {"mlp": 1e-4, "lstm": 4e-4}.get(given["model"], 9e-4)
    work *= 3 if given["task"] == "training" else 1
    return float(work * (0.1 + 0.9 / threads) * (1 + 0.05 * inter) * (1 + 0.02 * given["nodes"]))


def _rank(number: int, facts: Any, length: float) -> dict[str, Any]:
    node = {"hostname": "n1", "cpu_model": "AMD EPYC", "kernel": "6.1.0", "cpu_governor": "performance"}
    ended = {"exit_code": 0, "signal": None, "stopped_by": None}
    return {"rank": number, "host": "n1", "facts": facts, "node": node, "started_at": 0.0, "ended_at": length, **ended}


def _seen(step_s: float, length: float, given: dict[str, Any]) -> monitor_summary.Monitored:
    """The second half of the measurement with_interference; 40 W, and 15 W more for each thread."""
    joules = length * (40 + 15 * (given["intra_op_threads"] or 1))
    energy = [Energy("cpu", "rapl", "package-0", joules, joules / 100)]
    node = MonitorSummary(host="n1", duration_s=length, energy=energy, usage={}, absent={})
    return monitor_summary.Monitored(Interference("clean", windows=[{}, {"cpu": 1.5}]), [node])
