"""A model and a training loop of the user: MODULE:FUNCTION with accumulation and clipping, and hpcbench_probe."""

from __future__ import annotations

from typing import Any

from .bench import Bench, Record
from .models import dtypes, of_models, without_record
from .steps import Outcome, judged

NETS = """\
from torch import nn


def build(width=64):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(16 * width, 10),
    )
"""
# It also times its last half of the steps by itself, from one synchronization to the next.
LOOP = """\
import sys, time
import torch
from hpcbench_probe import probe

device, steps = torch.device(sys.argv[1]), int(sys.argv[2])
layers = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(8))).to(device)
optimizer = torch.optim.SGD(layers.parameters(), 1e-3)
synchronize = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
for step in probe(range(steps), items=256, synchronize=True):
    if step == steps // 2:
        synchronize()
        start = time.perf_counter()
    with probe.phase("forward"):
        loss = layers(torch.randn(256, 1024, device=device)).square().mean()
    with probe.phase("backward"):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    probe.log(loss=loss)
synchronize()
print("own %.9f" % ((time.perf_counter() - start) / (steps - steps // 2)))
"""
STEPS = 400
TOLERANCE = 0.1  # between the means of the probe and of the program


def model(bench: Bench, deadline_s: float) -> Outcome:
    """Run a function of the user in inference and training, with accumulation and clipping, in both dtypes."""
    (bench.workspace / "nets.py").write_text(NETS)
    kinds = dtypes(bench)
    optimizer = {"name": "adamw", "clip_norm": 1.0, "gradient_accumulation_steps": 2}
    parameters = {"model": "nets:build", "input": {"shape": [3, 32, 32]}, "batch_size": 32, "optimizer": optimizer}
    experiment = {"parameters": parameters, "matrix": {"task": ["inference", "training"], "dtype": list(kinds)}}
    records, done = bench.sweep("own-model", experiment, deadline_s)
    return of_models(records, [("nets:build", dtype) for dtype in kinds], bench.is_rehearsal, done.last_line)


def loop(bench: Bench, deadline_s: float) -> Outcome:
    """Measure the steps of a user's training loop with the probe, and compare them with the times of the program."""
    (bench.workspace / "loop.py").write_text(LOOP)
    device, count = ("cpu", 20) if bench.is_rehearsal else ("cuda", STEPS)
    options = ["--local", "--name", "own-loop", "--repetitions", "1", "--set", "measure.retries=0"]
    options += ["--extract", "own=own ([0-9.]+)", *([] if bench.is_rehearsal else ["--gpus-per-task", "1"])]
    words = ["run", *options, "--", bench.python, "loop.py", device, str(count)]
    done = bench.hpcbench(*words, deadline_s=deadline_s)
    records = bench.records("own-loop")
    bench.sweeps += ["own-loop"] if records else []
    return without_record(records, done) or of_loop(records[0], count)


def of_loop(record: Record, count: int) -> Outcome:
    """Return whether the probe recorded all steps, and their mean is that of the program."""
    if record["status"] != "completed" or not record["probe"]:
        return judged([], [f"{record['status']}: {record['error'] or 'no steps recorded'}"])
    times: list[float] = record["measurements"]["times_s"]
    mean_s, metrics = sum(times) / len(times), record["metrics"]
    own_s: Any = metrics["own"]["value"]
    phases = {name: metrics[name]["value"] for name in ("phase_forward", "phase_backward")}
    shown = ", ".join(f"{name} {value * 1e3:.3f} ms" for name, value in phases.items())
    evidence = [
        f"{record['probe']['steps']} steps of {mean_s * 1e3:.3f} ms ({shown}); by the program {own_s * 1e3:.3f} ms"
    ]
    problems = []
    if record["probe"]["steps"] != count:
        problems.append(f"{count} steps were expected")
    if sum(phases.values()) > mean_s:
        problems.append("the phases take longer than the step")
    if abs(mean_s / own_s - 1) > TOLERANCE:
        problems.append(f"the step times differ by more than {100 * TOLERANCE:.0f} %")
    return judged(evidence, problems)
