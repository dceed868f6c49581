"""Compare power, energy and throttle reasons of one run with independent readings of NVML."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from . import readings
from .bench import Bench, Record, stopped
from .models import dtypes, options, problems_of, without_record
from .readings import Series
from .steps import Outcome, judged, not_run

SWEEP, READINGS = "energy", "readings.jsonl"
ENERGY = "nvidia_energy"  # hpcbench's source of power and energy
MEASURED_S = 20.0
MOST_APART_S = 0.9  # between readings: runs shorter than ten times the longest interval and 0.1 s have no energy
TOLERANCE = 0.03  # relative; both read the same counter, so that only the ends of the window differ
USAGE = ("utilisation_percent", "memory_used_bytes", "clock_sm_mhz", "temperature_c", "throttle_reasons", "power_w")


def power_and_energy(bench: Bench, deadline_s: float) -> Outcome:
    """Measure one model for MEASURED_S while probe.py reads the GPU, and compare."""
    target = bench.workspace / READINGS
    with (bench.workspace / "probe.log").open("wb") as log:
        probe = bench.start(bench.program("probe", str(target)), log)
        try:
            time.sleep(1.0)
            records, done = bench.sweep(SWEEP, _experiment(bench), deadline_s)
            time.sleep(1.0)
        finally:
            probe.terminate()
            stopped(probe, time.monotonic() + 5)
    if not target.exists():
        return judged([], [f"NVML could not be read: {(bench.workspace / 'probe.log').read_text().strip()[-300:]}"])
    missing = without_record(records, done)
    files = sorted((bench.workspace / "results" / SWEEP / "timelines").rglob("*.gz"))
    apart_s = readings.longest_gap_s(files[0], ENERGY) if files else None
    return missing or compared(records[0], readings.read(target), apart_s)


def throttle_reasons(bench: Bench, deadline_s: float) -> Outcome:
    """Compare the throttle reasons in the record of that run with those that probe.py read."""
    records = bench.records(SWEEP) if SWEEP in bench.sweeps else []
    if not records or records[0]["status"] != "completed":
        return not_run("requires the run of the step energy, which has no completed record")
    return throttling(records[0], readings.read(bench.workspace / READINGS))


def _experiment(bench: Bench) -> dict[str, Any]:
    model = "mlp" if bench.is_rehearsal else "resnet50"
    parameters = {"model": model, "model_options": options(bench, model), "batch_size": 64, "task": "training"}
    measure = {"repetitions": 1, "retries": 0, "max_warmup_s": 3.0, "min_time_s": MEASURED_S, "max_time_s": MEASURED_S}
    return {"parameters": {**parameters, "dtype": dtypes(bench)[0]}, "measure": measure}


def window_of(record: Record) -> tuple[float, float]:
    """Return start and end of the measurements on the clock of the node."""
    windows = record["measurements"]["windows"]
    return windows[0][0], windows[-1][1]


def compared(record: Record, read: Sequence[dict[str, Any]], apart_s: float | None) -> Outcome:
    """Return whether the energy in a record agrees with the counter, and whether every column was measured.

    `apart_s` is the longest time between two readings of the energy by hpcbench.
    """
    problems = problems_of([record])
    if problems:
        return judged([], problems)
    start_s, end_s = window_of(record)
    monitor = record["monitors"][0]
    found = [each for each in monitor["energy"] if each["kind"] == "gpu"]
    part: dict[str, Any] = found[0] if found else {"joules": None, "reason": "the record has no GPU"}
    interference = record["interference"]
    evidence = [_of_usage(monitor["usage"]), "{verdict}; not monitored: {unseen}".format(**interference)]
    if apart_s is not None:
        evidence.append(f"hpcbench read the GPU's energy at most {apart_s:.2f} s apart")
        if apart_s > MOST_APART_S:
            problems.append(f"runs of 10 s, the default, have no energy if readings are {apart_s:.2f} s apart")
    problems += [f"gpu0.{name} has no reading" for name in USAGE if f"gpu0.{name}" not in monitor["usage"]]
    if part["joules"] is None:
        return judged(evidence, [*problems, f"no energy in the record: {part['reason']}"])
    evidence.insert(0, _of_part(part, end_s - start_s))
    problems += [f"remark on the energy: {part['remark']}"] if part["remark"] else []
    counter, power = readings.series(read, "energy_mj"), readings.series(read, "power_mw")
    if power.covers(start_s, end_s):
        evidence.append(f"the sensor's mean power, read independently: {_mean_w(power, start_s, end_s):.1f} W")
    if not counter.covers(start_s, end_s):
        return judged(evidence, [*problems, "the device's energy counter was not read over the whole window"])
    joules = (counter.at(end_s) - counter.at(start_s)) / 1e3
    off = part["joules"] / joules - 1 if joules else float("inf")
    evidence.append(f"the device's counter over the same window: {joules:.1f} J; the record differs by {off:+.2%}")
    if abs(off) > TOLERANCE:
        problems.append(f"the record's energy differs from the counter by {off:+.1%}, more than {TOLERANCE:.0%}")
    return judged(evidence, problems)


def _of_part(part: dict[str, Any], length_s: float) -> str:
    text = "record: {joules:.1f} J +- {uncertainty_j:.1f} J by {method}, sensor '{sensor}'".format(**part)
    return f"{text}, in {length_s:.2f} s ({part['joules'] / length_s:.1f} W)"


def _of_usage(usage: dict[str, Any]) -> str:
    shown = [f"{name} {_three(usage[f'gpu0.{name}'])}" for name in USAGE if f"gpu0.{name}" in usage]
    return "minimum, mean, maximum: " + "; ".join(shown)


def _three(values: Sequence[float]) -> str:
    return "/".join(f"{value:.4g}" for value in values)


def _mean_w(power: Series, start_s: float, end_s: float) -> float:
    values = power.within(start_s, end_s)
    return sum(values) / len(values) / 1e3 if values else power.at(start_s) / 1e3


def throttling(record: Record, read: Sequence[dict[str, Any]]) -> Outcome:
    """Return whether hpcbench saw the same throttle reasons as probe.py, which reads more often."""
    start_s, end_s = window_of(record)
    seen = {int(value) for value in readings.series(read, "reasons").within(start_s, end_s)}
    usage = record["monitors"][0]["usage"].get("gpu0.throttle_reasons")
    if usage is None:
        return judged([], ["the record has no throttle reasons"])
    least, _, most = usage
    evidence = [f"read independently: {'; '.join(map(readings.named, sorted(seen))) or 'nothing'}"]
    evidence.append(f"record: from {readings.named(int(least))} to {readings.named(int(most))}")
    causes = [cause for found in record["interference"]["found"] for cause in found["causes"]]
    evidence.append(f"interference in the record: {', '.join(dict.fromkeys(causes)) or 'none'}")
    if not seen:
        return judged(evidence, ["NVML gave no throttle reasons"])
    outside = {int(least), int(most)} - seen
    return judged(evidence, [f"probe.py never read {readings.named(bits)}" for bits in sorted(outside)])
