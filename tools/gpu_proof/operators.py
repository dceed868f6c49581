"""Validate operators on the device, also with TF32 as a planted fault, and profile a network with power windows."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from typing import Any

from .bench import BRIEF, GRACE_S, Bench, Done, Record
from .checkup import TABLES
from .models import SMALL, without_record
from .steps import Outcome, judged, not_run

GEMM = {"m": 512, "n": 512, "k": 512}
CONV = {"n": 8, "c_in": 64, "h": 28, "w": 28, "c_out": 64}
AXES = {"operator": ["gemm", "conv2d"], "sizes": [GEMM, CONV]}
ENVIRONMENT = "tf32"
HAS_TF32 = "import torch; print(torch.cuda.get_device_capability()[0])"
FIRST_WITH_TF32 = 8  # compute capability
# In the worker: allow TF32 after hpcbench has switched it off. A CPU has no TF32: round the factors instead.
PLANTED = """\
import os, sys

if "work" in sys.orig_argv:
    os.environ.pop("NVIDIA_TF32_OVERRIDE", None)
    import torch
    from torch.nn import functional

    def rounded(x):
        return x if x.is_cuda else (x.view(torch.int32) & ~0x1FFF).view(torch.float32)

    def with_tf32(function):
        def call(*tensors, **options):
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
            return function(*(rounded(x) if x.dtype == torch.float32 else x for x in tensors), **options)
        return call

    torch.mm, functional.conv2d = with_tf32(torch.mm), with_tf32(functional.conv2d)
"""
# On a GPU, calls that are shorter than their launch have no power.
LARGE: dict[str, Any] = {"model_options": {"hidden_size": 4096}, "batch_size": 4096}
POWER_WINDOWS = 4
CLOCKS = 2  # states of the clock, next to the default one
Row = dict[str, str]  # of the table of operators; an empty text is null
UNCHANGED = "the clock cannot be changed"  # the beginning of hpcbench's warning


def validated(bench: Bench, deadline_s: float) -> Outcome:
    """Validate results and gradients of two operators in float32."""
    records, done = _sweep(bench, "operators", ["forward", "both"], deadline_s)
    return of_validations(records, 4, done.last_line)


def with_tf32(bench: Bench, deadline_s: float) -> Outcome:
    """Switch TF32 on behind hpcbench's back: the validation must find it in both operators."""
    if not bench.is_rehearsal:
        done = bench.run([bench.python, "-c", HAS_TF32], deadline_s)
        if done.status or int(done.last_line) < FIRST_WITH_TF32:
            return not_run(f"the GPU has no TF32: compute capability {done.last_line}")
    folder = bench.workspace / "planted"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(PLANTED)
    file = bench.workspace / "site.yaml"
    site = json.loads(file.read_text())
    site["environments"][ENVIRONMENT] = {"python": bench.python, "env": {"PYTHONPATH": str(folder)}}
    file.write_text(json.dumps(site))
    records, done = _sweep(bench, "tf32", ["forward"], deadline_s, environment=ENVIRONMENT)
    return of_faults(records, 2, done.last_line)


def profile(bench: Bench, deadline_s: float) -> Outcome:
    """Profile the inference of a small network, with the power of some operators."""
    return _profile(bench, "profile", [], deadline_s)


def clocks(bench: Bench, deadline_s: float) -> Outcome:
    """Profile the same network in other clock states, if the user allows it and the node permits it."""
    if not bench.may_change_clocks:
        return not_run("changes the clock of the GPU: requires --change-clocks")
    return _profile(bench, "clocks", ["--clocks", str(CLOCKS)], deadline_s)


def _sweep(
    bench: Bench, name: str, phases: Sequence[str], deadline_s: float, **parameters: Any
) -> tuple[list[Record], Done]:
    given = {"task": "operator", "dtype": "float32", "validate": True, **parameters}
    experiment = {"parameters": given, "matrix": {"phase": list(phases)}, "zip": [AXES]}
    return bench.sweep(name, experiment, deadline_s, "--no-fail-fast")


def _profile(bench: Bench, name: str, options: Sequence[str], deadline_s: float) -> Outcome:
    missing = [module for module in TABLES if module not in bench.modules]
    if missing:
        return not_run(f"not installed: {', '.join(missing)}")
    parameters: dict[str, Any] = {"framework": "pytorch", "device": bench.device, "model": "mlp", "task": "inference"}
    parameters |= {"model_options": SMALL["mlp"]} if bench.is_rehearsal else LARGE
    file, table = bench.workspace / f"{name}.yaml", bench.workspace / f"{name}.csv"
    file.write_text(json.dumps({"name": name, "parameters": parameters, "measure": BRIEF}))
    words = ["profile", str(file), "--local", "--name", name, "--power", str(POWER_WINDOWS), *options]
    done = bench.hpcbench(*words, deadline_s=deadline_s - GRACE_S)
    records = bench.records(name)
    ended = without_record(records, done)
    if ended:
        return ended
    bench.sweeps.append(name)
    reported = bench.hpcbench("report", name, "--operators", str(table), deadline_s=deadline_s)
    if not table.exists():
        return judged([], [f"report wrote no table of operators: {reported.last_line}"])
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return of_clocks(records[0], rows) if options else of_rows(records[0], rows, bench.is_rehearsal)


def of_validations(records: Sequence[Record], wanted: int, last_line: str) -> Outcome:
    """Return whether all operators completed with validated results."""

    def one(record: Record) -> tuple[bool, str]:
        found = record["validation"] or {"verdict": None, "reason": None, "worst": None}
        if (record["status"], found["verdict"]) == ("completed", "passed"):
            return True, f"error {found['worst']['bound_ratio']:.2g} of the bound"
        reason = found["reason"] or (record["error"] or {}).get("message")
        return False, f"{record['status']}: {found['verdict']}: {reason}"

    return _of_each(records, wanted, last_line, one)


def of_faults(records: Sequence[Record], wanted: int, last_line: str) -> Outcome:
    """Return whether the validation failed in each operator."""

    def one(record: Record) -> tuple[bool, str]:
        error = record["error"] or {}
        if error.get("type") == "validation":
            return True, error["message"]
        return False, f"TF32 was not found: {record['status']}: {error.get('message')}"

    return _of_each(records, wanted, last_line, one)


def _of_each(
    records: Sequence[Record], wanted: int, last_line: str, one: Callable[[Record], tuple[bool, str]]
) -> Outcome:
    """Return the outcome of all records, each judged by `one`: whether it is good, and a sentence."""
    ended = [record for record in records if record["status"] != "cancelled"]
    if not ended:
        return judged([], [f"no record: {last_line}"])
    evidence, problems = [], []
    for record in ended:
        is_good, shown = one(record)
        (evidence if is_good else problems).append("{operator} {phase}: ".format(**record["parameters"]) + shown)
    outcome = judged(evidence, problems)
    if len(ended) < wanted:
        return outcome.cut_short(f"run for lack of time: {len(ended)} of {wanted} cases")
    return outcome


def of_rows(record: Record, rows: Sequence[Row], on_cpu: bool) -> Outcome:
    """Return whether all operators were timed, or have a reason, and on a GPU whether some have power and energy."""
    whole = [row for row in rows if row["kind"] == "network"]
    operators = [row for row in rows if row["kind"] not in ("network", "idle")]
    if record["status"] != "completed" or not whole or not operators:
        shown = (record["error"] or {}).get("message") or "; ".join(record["warnings"]) or "no rows"
        return judged([], [f"{record['status']}, without a profile: {shown}"])
    evidence = [f"{len(operators)} operators, a step of {_step_s(whole[0]) * 1e3:.3f} ms"]
    evidence += [f"warning: {text}" for text in record["warnings"]]
    problems = [f"{row['operator']}: no time" for row in operators if not row["hot_s"] and not row["reason"]]
    powers = [row for row in operators if row["power_w"]]
    evidence += [f"{row['operator']}: {row['power_w']} W, {row['energy_per_call_j']} J per call" for row in powers]
    reasons = dict.fromkeys(row["power_reason"] for row in operators if not row["power_w"])
    evidence += [f"no power: {reason}" for reason in reasons]
    if not on_cpu:
        problems += [] if powers else ["no operator has power"]
        problems += [f"{row['operator']} is on the {row['device']}" for row in operators if row["device"] != "gpu"]
    return judged(evidence, problems)


def of_clocks(record: Record, rows: Sequence[Row]) -> Outcome:
    """Return whether the network was profiled in each state; not run if the node does not permit a change."""
    refused = [text for text in record["warnings"] if UNCHANGED in text]
    if refused:
        return not_run(refused[0])
    whole = [row for row in rows if row["kind"] == "network"]
    states = [row for row in whole if row["requested_clock_mhz"] or row["requested_power_limit_w"]]
    evidence = [f"{row['clock_method']}, {_state(row)}: a step of {_step_s(row) * 1e3:.3f} ms" for row in states]
    evidence += [f"warning: {text}" for text in record["warnings"]]
    problems = [f"{record['status']}: {record['error']}"] if record["status"] != "completed" else []
    problems += [text for text in record["warnings"] if "was refused" in text]
    if len(states) != CLOCKS:
        problems.append(f"{len(states)} clock states were profiled, not {CLOCKS}")
    return judged(evidence, problems)


def _step_s(row: Row) -> float:
    return float(row["stream_s"] or row["hot_s"] or "nan")


def _state(row: Row) -> str:
    if row["requested_power_limit_w"]:
        return f"limit {row['requested_power_limit_w']} W"
    return f"clock {row['requested_clock_mhz']} MHz, measured {row['sm_clock_mhz'] or 'unknown'}"
