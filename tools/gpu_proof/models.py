"""Run the models on the device: eager and compiled, in float32 and bfloat16, and one that does not fit."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .bench import Bench, Done, Record, stopped
from .steps import FAILED, Outcome, judged, not_run

DTYPES = ("bfloat16", "float32")  # in this order, as far as the time allows
LEAST_S = 40.0  # shortest time left with which a sweep is started
# Small versions of every model, for a rehearsal on CPUs.
SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"hidden_size": 64},
    "lstm": {"hidden_size": 64, "sequence_length": 8},
    "lstm_stack": {"hidden_size": 64, "narrow_size": 16, "sequence_length": 8},
    "alexnet": {"image_size": 63},
    "vgg16": {"image_size": 32},
    "resnet50": {"image_size": 32},
    "inception_v3": {"image_size": 75},
    "transformer": {"hidden_size": 64, "layers": 2, "heads": 4, "feed_forward_size": 128, "sequence_length": 16},
    "gpt": {"hidden_size": 64, "layers": 2, "heads": 4, "vocabulary": 256, "sequence_length": 16},
}


def options(bench: Bench, model: str) -> dict[str, Any]:
    """Return the options of a model: its defaults on a GPU, small ones in a rehearsal."""
    return SMALL[model] if bench.is_rehearsal else {}


def dtypes(bench: Bench) -> Sequence[str]:
    """Return the dtypes to run: in a rehearsal, only the one that every CPU supports."""
    return ("float32",) if bench.is_rehearsal else DTYPES


def eager(bench: Bench, deadline_s: float) -> Outcome:
    """Train every model in both dtypes."""
    return _sweep(bench, "eager", dtypes(bench), {"task": "training", "execution": "eager"}, deadline_s)


def compiled(bench: Bench, deadline_s: float) -> Outcome:
    """Run inference with every model by torch.compile, in one dtype after the other."""
    parameters = {"task": "inference", "execution": "compiled"}
    evidence: list[str] = []
    problems: list[str] = []
    cut = []
    for dtype in dtypes(bench):
        if deadline_s - time.monotonic() < LEAST_S:
            cut.append(f"not run for lack of time: {dtype}")
            continue
        outcome = _sweep(bench, f"compiled-{dtype}", [dtype], parameters, deadline_s)
        evidence += outcome.evidence
        (problems if outcome.status == FAILED else cut).extend(outcome.problems)
    whole = judged(evidence, problems)
    return whole.cut_short("; ".join(cut)) if cut else whole


def _sweep(bench: Bench, name: str, kinds: Sequence[str], parameters: dict[str, Any], deadline_s: float) -> Outcome:
    axes = {"model": list(SMALL), "model_options": [options(bench, model) for model in SMALL]}
    experiment = {"parameters": {"batch_size": 32, **parameters}, "matrix": {"dtype": list(kinds)}, "zip": [axes]}
    if bench.is_rehearsal:
        experiment["parameters"]["batch_size"] = 4
    records, done = bench.sweep(name, experiment, deadline_s)
    wanted = [(model, dtype) for model in SMALL for dtype in kinds]
    return of_models(records, wanted, bench.is_rehearsal, done.last_line)


def of_models(records: Sequence[Record], wanted: Sequence[tuple[str, str]], on_cpu: bool, last_line: str) -> Outcome:
    """Return the outcome of a sweep over models and dtypes. Missing ones were not run for lack of time."""
    ended = [record for record in records if record["status"] != "cancelled"]
    there = {(record["parameters"]["model"], record["parameters"]["dtype"]) for record in ended}
    missing = [f"{model} in {dtype}" for model, dtype in wanted if (model, dtype) not in there]
    problems = problems_of(ended, on_cpu)
    if not ended:
        return judged([], [f"no record: {last_line}"])
    outcome = judged([_row(record) for record in ended if record["status"] == "completed"], problems)
    return outcome.cut_short(f"not run for lack of time: {', '.join(missing)}") if missing else outcome


def _row(record: Record) -> str:
    parameters, samples = record["parameters"], record["measurements"]
    times = sorted(value for value in samples["times_s"] if value is not None)
    step_s = times[len(times) // 2] if times else float("nan")
    memory = record["peak_device_bytes"]
    shown = f", {memory / 2**20:.0f} MiB of device memory" if memory else ""
    first = f", first step {samples['first_step_s']:.1f} s" if samples["first_step_s"] else ""
    names = "{framework} {model} {task} {strategy} {dtype} {execution}".format(**parameters)
    return f"{names}: {step_s * 1e3:.3f} ms a step{first}{shown}, {(record['interference'] or {}).get('verdict')}"


def problems_of(records: Sequence[Record], on_cpu: bool = True) -> list[str]:
    """Return the problems of records: a status other than completed, or a missing GPU or device memory."""
    problems = []
    for record in records:
        names = "{framework} {model} {task} {strategy} {dtype} {execution}".format(**record["parameters"])
        if record["status"] != "completed":
            error = record["error"] or {}
            last = " | ".join(error.get("last_lines", [])[-3:])
            problems.append(f"{names}: {record['status']}: {error.get('message')} [{last[-400:]}]")
        elif not on_cpu:
            problems += [] if record["gpus"] else [f"{names}: the record names no GPU"]
            problems += [] if record["peak_device_bytes"] else [f"{names}: the record has no device memory"]
        problems += [f"{names}: warning: {text}" for text in record["warnings"] if "closing" in text]
    return problems


def without_record(records: Sequence[Record], done: Done) -> Outcome | None:
    """Return the outcome of a sweep of one case that has no record of a result, or None if it has one."""
    if not records:
        return judged([], [f"no record: {done.last_line}"])
    if records[0]["status"] == "cancelled":
        return not_run("its run had not ended at the time limit of the step")
    return None


def out_of_memory(bench: Bench, deadline_s: float) -> Outcome:
    """Train with a batch that does not fit on the GPU: the outcome must be out_of_memory."""
    if bench.is_rehearsal:
        return not_run("a rehearsal has no GPU memory to fill")
    parameters = {"model": "transformer", "task": "training", "batch_size": 4096}  # about 470 GB of activations
    records, done = bench.sweep("memory", {"parameters": parameters}, deadline_s)
    missing = without_record(records, done)
    if missing:
        return missing
    error = records[0]["error"] or {}
    shown = f"{records[0]['status']}: {error.get('type')}: {error.get('message')}"
    return judged([shown], [] if records[0]["status"] == "out_of_memory" else [f"expected out_of_memory: {shown}"])


def start_compiling(bench: Bench) -> None:
    """Start to fill torch.compile's cache while no time is measured: one process per model, if each has a CPU."""
    if bench.is_rehearsal or len(os.sched_getaffinity(0)) < len(SMALL):
        return
    for model in SMALL:
        with _log(bench, model).open("wb") as log:
            bench.compiling[model] = bench.start(bench.program("prime", bench.device, model, *DTYPES), log)


def finish_compiling(bench: Bench, deadline_s: float) -> Outcome:
    """Wait for the processes of start_compiling, and stop those that have not ended at the deadline."""
    if not bench.compiling:
        return not_run("requires a GPU, and a CPU for each model")
    ended = {model: stopped(process, deadline_s) for model, process in bench.compiling.items()}
    lines = {model: (_log(bench, model).read_text().strip().splitlines() or [""])[-1] for model in ended}
    problems = [f"{model}: {lines[model]}" for model, status in ended.items() if status]
    late = [model for model, status in ended.items() if status is None]
    outcome = judged([f"compiled: {', '.join(model for model, status in ended.items() if status == 0)}"], problems)
    return outcome.cut_short(f"not compiled in time: {', '.join(late)}") if late else outcome


def _log(bench: Bench, model: str) -> Path:
    return bench.workspace / f"prime-{model}.log"
