"""The results of `hpcbench doctor` on this machine, and the page with rooflines from the peaks that it measured."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .bench import Bench
from .steps import Outcome, judged, not_run

GPU_CHECKS = ("GPUs", "GPU energy", "GPU peaks")
DTYPES = ("float32", "bfloat16", "float16")
TABLES = ("pandas", "numpy")
FIGURES = ("altair", "vl_convert")
PAGE, TABLE = "page.html", "cases.csv"
MOST = 1.05  # of the attainable performance: if a case exceeds this, the roofline is too low


def doctor(bench: Bench, deadline_s: float) -> Outcome:
    """Run doctor with its shortest measurement of the noise floor, and with peaks."""
    done = bench.hpcbench("doctor", "--json", "--seconds", "3", deadline_s=deadline_s)
    start = done.output.find("{\n")
    if done.status is None or start < 0:
        return judged([], [f"doctor printed no result: {done.last_line}"])
    data, _ = json.JSONDecoder().raw_decode(done.output[start:])
    return of_findings([each for place in data["places"] for each in place["findings"]], bench.is_rehearsal)


def of_findings(findings: Sequence[dict[str, Any]], on_cpu: bool) -> Outcome:
    """Return whether doctor checked GPU, energy and peaks, and whether the peaks are plausible."""
    evidence = [f"{each['level']}: {each['subject']}: {each['found']}" for each in findings]
    problems = [f"{each['subject']}: {each['found']}" for each in findings if each["level"] == "problem"]
    wanted = ("CPU peaks",) if on_cpu else GPU_CHECKS
    subjects = {each["subject"] for each in findings}
    problems += [f"no result for '{name}'" for name in wanted if name not in subjects]
    if not on_cpu:
        numbers = {name: value for each in findings for name, value in (each.get("numbers") or {}).items()}
        rates = {dtype: numbers.get(f"gpu_{dtype}_flops_per_s") for dtype in DTYPES}
        problems += [f"no GPU peak in {dtype}" for dtype, rate in rates.items() if not rate]
        problems += [] if numbers.get("gpu_float32_bytes_per_s") else ["no memory bandwidth of the GPU"]
        if rates["float32"] and rates["bfloat16"] and rates["bfloat16"] <= rates["float32"]:
            problems.append("bfloat16 is not faster than float32: TF32 may be on, or tensor cores unused")
    return judged(evidence, problems)


def page(bench: Bench, deadline_s: float) -> Outcome:
    """Write the table of all cases and the page with their rooflines."""
    missing = [name for name in TABLES if name not in bench.modules]
    if missing or not bench.sweeps:
        return not_run(f"not installed: {', '.join(missing)}" if missing else "no sweep has records")
    table, target = bench.log.with_name(TABLE), bench.log.with_name(PAGE)
    figures = [name for name in FIGURES if name not in bench.modules]
    more = [] if figures else ["--html", str(target)]
    done = bench.hpcbench("report", *bench.sweeps, "--csv", str(table), *more, deadline_s=deadline_s)
    if not table.exists():
        return judged([], [f"report wrote no table: {done.last_line}"])
    with table.open(newline="") as file:
        evidence = [f"{TABLE}: {sum(1 for _ in csv.DictReader(file))} cases of {', '.join(bench.sweeps)}"]
    if figures:
        return not_run(f"page not written: not installed: {', '.join(figures)}; make it from the records", evidence)
    return of_page(target, evidence, bench.is_rehearsal)


def of_page(target: Path, evidence: list[str], on_cpu: bool) -> Outcome:
    """Return whether the page has rooflines."""
    if not target.exists():
        return judged(evidence, ["report wrote no page"])
    text = target.read_text()
    evidence.append(f"{PAGE}: {len(text) / 1e6:.1f} MB")
    has_roofline = 'id="figure-roofline' in text
    return judged(evidence, [] if has_roofline or on_cpu else ["the page has no roofline: were peaks measured?"])
