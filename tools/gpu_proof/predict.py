"""Profile networks, fit the predictor on the profile, predict other networks, measure them, and compare."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .bench import BRIEF, GRACE_S, Bench, Record
from .checkup import TABLES
from .models import options, without_record
from .operators import POWER_WINDOWS
from .steps import Outcome, judged, not_run

NEEDS = (*TABLES, "lightgbm")
TABLE = "predictions.csv"
FITTED, PREDICTED = "predict-fitted", "predict-measured"
PROFILED_MODELS = ("mlp", "transformer", "resnet50")
OTHER_MODELS = ("lstm", "vgg16", "resnet50", "transformer")  # also the same networks with another batch
BATCHES = {FITTED: 32, PREDICTED: 16}
MOST_OFF = 0.35  # median of the relative errors; predictions without any measurement are off by more
Row = Mapping[str, str]  # of predictions as CSV


def predict(bench: Bench, deadline_s: float) -> Outcome:
    """Profile, fit, predict and measure, in this order."""
    missing = [name for name in NEEDS if name not in bench.modules]
    if missing:
        return not_run(f"not installed: {', '.join(missing)}")
    if not list((bench.workspace / "results" / ".machines").glob("*.json")):
        bench.hpcbench("doctor", "--seconds", "3", deadline_s=deadline_s)  # the peaks of this node
    failed = _profile(bench, deadline_s) or _fit(bench, deadline_s)
    if failed:
        return failed
    table = bench.log.with_name(TABLE)
    file = bench.workspace / f"{PREDICTED}.yaml"
    file.write_text(json.dumps(_experiment(bench, PREDICTED, OTHER_MODELS)))
    words = ["predict", str(file), "--model", "fleet.json", "--least-energy", "--csv", str(table)]
    done = bench.hpcbench(*words, deadline_s=deadline_s)
    if not table.exists():
        return judged([], [f"predict wrote no table: {done.last_line}"])
    with table.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    records, done = bench.sweep(PREDICTED, _experiment(bench, PREDICTED, OTHER_MODELS), deadline_s)
    return without_record(records, done) or compared(rows, records, bench.is_rehearsal)


def _experiment(bench: Bench, name: str, models: Sequence[str]) -> dict[str, Any]:
    axes = {"model": list(models), "model_options": [options(bench, model) for model in models]}
    batch_size = BATCHES[name] // (8 if bench.is_rehearsal else 1)
    parameters = {"framework": "pytorch", "device": bench.device, "task": "inference", "batch_size": batch_size}
    return {"name": name, "parameters": {**parameters, "cpus_per_task": 1}, "zip": [axes], "measure": BRIEF}


def _profile(bench: Bench, deadline_s: float) -> Outcome | None:
    """Profile the networks, and rerun those with interference, which the fit leaves out. Return a failure, or None."""
    file = bench.workspace / f"{FITTED}.yaml"
    file.write_text(json.dumps(_experiment(bench, FITTED, PROFILED_MODELS)))
    words = ["profile", str(file), "--local", "--name", FITTED, "--power", str(POWER_WINDOWS)]
    done = bench.hpcbench(*words, deadline_s=deadline_s - GRACE_S)
    failed = without_record(bench.records(FITTED), done)
    if not failed:
        bench.sweeps.append(FITTED)
        bench.hpcbench("resume", FITTED, "--interference", deadline_s=deadline_s - GRACE_S)
    return failed


def _fit(bench: Bench, deadline_s: float) -> Outcome | None:
    """Fit the predictor on the profile; return why it failed."""
    done = bench.hpcbench("predictor", "fit", FITTED, "-o", "fleet.json", deadline_s=deadline_s)
    is_written = (bench.workspace / "fleet.json").exists()
    return None if is_written else judged([], [f"predictor fit wrote no models: {done.last_line}"])


def compared(rows: Sequence[Row], records: Sequence[Record], on_cpu: bool) -> Outcome:
    """Return whether predicted times agree with the records; in a rehearsal, only whether there are any."""
    usual = {row["case"]: row for row in rows if not row["state"]}
    evidence, problems, errors, inside = [], [], [], 0
    for record in records:
        row, name = usual.get(record["case_id"]), "{model} {batch_size}".format(**record["parameters"])
        if record["status"] != "completed":
            problems.append(f"{name}: {record['status']}: {(record['error'] or {}).get('message')}")
        elif row is None or not row["time_s"]:
            problems.append(f"{name}: not predicted: {row['reason'] if row else 'row missing'}")
        else:
            predicted, low, high = (float(row[f"time_s{end}"]) for end in ("", "_pi_low", "_pi_high"))
            measured = statistics.median(each for each in record["measurements"]["times_s"] if each is not None)
            errors.append(predicted / measured - 1)
            inside += low <= measured <= high
            shown = f"{predicted * 1e3:.3f} ms ({low * 1e3:.3f} to {high * 1e3:.3f})"
            evidence.append(f"{name}: predicted {shown}, measured {measured * 1e3:.3f} ms: {errors[-1]:+.0%}")
            problems += [] if row["energy_j"] else [f"{name}: {row['missing']}"]
    if errors:
        off = statistics.median(map(abs, errors))
        evidence.append(f"median error {off:.0%}; {inside} of {len(errors)} times are inside their 90 % interval")
        if off > MOST_OFF and not on_cpu:
            problems.append(f"the median error of {off:.0%} exceeds {MOST_OFF:.0%}")
    return judged(evidence, problems)
