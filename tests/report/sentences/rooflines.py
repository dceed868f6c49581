"""Random cases below random roofs, and an evaluation of each sentence on the roofline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.roofline import Roofline, roofline
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.report.charts.resources import _of_roofline
from hpcbench.report.load.results import results_of_table
from tests.analysis.conftest import SETTINGS, USUAL, WHOLE, Row
from tests.report.sentences.truth import close

_CLASSES, _INPUT = 2, 3
_MEASURED_BY = ("numpy", "n1", "2026-11-01T00:00:00+00:00")


class Roofs(NamedTuple):
    """Runs of mlps of one hidden layer, and the measured peaks."""

    repetitions: pd.DataFrame
    peaks: list[MachinePeaks]


def random_roofs(seed: int) -> Roofs:
    rng = np.random.default_rng([3, seed])
    peaks = [
        Peak("cpu", int(cpus), str(dtype), float(10 ** rng.uniform(3, 6)), _bandwidth(rng), *_MEASURED_BY)
        for cpus in rng.choice([1, 2, 4], int(rng.integers(1, 4)))
        for dtype in rng.choice(["float32", "bfloat16"], int(rng.integers(1, 3)), replace=False)
    ]
    rows: list[Row] = []
    for place in range(int(rng.integers(1, 9))):
        hidden, batch, nodes = int(rng.choice([4, 64])), int(rng.choice([1, 5, 64])), int(rng.choice([1, 2]))
        task = str(rng.choice(["inference", "training"]))
        options = {"classes": _CLASSES, "hidden_size": hidden, "input_size": _INPUT, "layers": 1}
        own = {**USUAL, **SETTINGS, "case": f"case-{place}", "case_index": place, "model_options": json.dumps(options)}
        own |= {"physical_cores_per_task": None, "batch_size": batch, "items_per_step": batch * nodes, "nodes": nodes}
        own |= {"task": task, "cpus_per_task": int(rng.choice([1, 2, 4])), "flops_per_item": _flops(hidden, task)}
        own |= {"dtype": str(rng.choice(["float32", "bfloat16"])), "parameter_count": _weights(hidden)}
        time_s = float(10 ** rng.uniform(-4, 1))
        times = [time_s * rng.lognormal(0, 0.02, 3) for _ in range(int(rng.integers(1, 4)))]
        rows += [{**own, "run": number, "times_s": each} for number, each in enumerate(times)]
    return Roofs(
        pd.DataFrame(rows).astype(dict.fromkeys(WHOLE, "Int64")), [MachinePeaks("a CPU", 64, None, tuple(peaks))]
    )


def _bandwidth(rng: np.random.Generator) -> float | None:
    return None if rng.random() < 0.15 else float(10 ** rng.uniform(3, 6))


def _weights(hidden: int) -> int:
    return (_INPUT + 1) * hidden + (hidden + 1) * _CLASSES


def _flops(hidden: int, task: str) -> int:
    """Per item: a product and a sum for each weight that is no bias, in three passes of a training."""
    return 2 * (_INPUT * hidden + hidden * _CLASSES) * (3 if task == "training" else 1)


def _bytes(hidden: int, batch: int, task: str, dtype: str) -> int:
    """Of a step, by the formula of docs/concepts/scaling-and-roofline.md."""
    moved = batch * ((_INPUT + hidden) + 2 * hidden + (hidden + _CLASSES))
    size, weights = 4 if dtype == "float32" else 2, _weights(hidden)
    return size * (moved + weights) if task == "inference" else size * (3 * moved + 2 * weights) + 24 * weights


def false_in_roofline(made: Roofs) -> Iterator[str]:
    results = results_of_table(made.repetitions, {})
    found = roofline(results.cases, made.peaks)
    known: dict[str, tuple[float, str]] = {}
    remarks = 0
    for _, point in found.points.iterrows():
        rows = made.repetitions[made.repetitions["case"] == point["case"]]
        share, bound, above, reason = _expected(rows, made.peaks[0].measurements)
        about = f"{point['case']}: {dict(point)}"
        if reason:
            if pd.notna(point["share_of_attainable"]) or reason not in str(point["reason"]):
                yield f"{reason}: {about}"
            continue
        known[point["case"]] = share, bound
        if not close(point["share_of_attainable"], share) or point["bound"] != bound:
            yield f"share {share}, bound by {bound}: {about}"
        remarks += above > 1
        told = re.match(r"([\d.]+) times", str(point["remark"]))
        if bool(told) != (above > 1) or (told and abs(float(told[1]) - above) > 0.0051):
            yield f"{above} times the roof: {about}"
    yield from _of_texts(results, found, known, remarks)


def _expected(rows: pd.DataFrame, peaks: tuple[Peak, ...]) -> tuple[float, str, float, str]:
    """The share of what is attainable, what bounds it, how far it is above the roof, or why it has none."""
    row = rows.iloc[0]
    alike = [peak for peak in peaks if peak.dtype == row["dtype"]]
    on_cpus = [peak for peak in alike if peak.cpus == row["cpus_per_task"]]
    if not on_cpus:
        counts = ", ".join(str(peak.cpus) for peak in sorted(alike, key=lambda peak: peak.cpus or 0))
        return 0, "", 0, f"used {row['cpus_per_task']}" if counts else f"the peak in {row['dtype']}"
    flops = max(peak.flops_per_s for peak in on_cpus)
    moved = [peak.bytes_per_s for peak in on_cpus if peak.bytes_per_s is not None]
    if not moved:
        return 0, "", 0, "the memory bandwidth was not measured"
    hidden, batch = json.loads(row["model_options"])["hidden_size"], int(row["batch_size"])
    of_step = batch * _flops(hidden, row["task"])
    rate = of_step / float(np.median([np.median(times) for times in rows["times_s"]]))
    slope = of_step / _bytes(hidden, batch, row["task"], row["dtype"]) * max(moved)
    attainable = min(flops, slope)
    above = rate / (flops if rate > flops else attainable)
    return rate / attainable, "memory" if slope < flops else "compute", above, ""


def _of_texts(results: Results, found: Roofline, known: dict[str, Any], remarks: int) -> Iterator[str]:
    figures = list(_of_roofline(results, found))
    if bool(figures) != bool(known):
        yield f"{len(figures)} figures of {known}"
    for figure in figures:
        text, best = f"{figure.caption} {figure.description}", max(known, key=lambda case: known[case][0])
        for word in ("memory", "compute"):
            told = re.search(rf"(\d+) {word}-bound", text)
            count = sum(bound == word for _, bound in known.values())
            if int(told[1] if told else 0) != count:
                yield f"{count} {word}-bound: {text}"
        reached = re.search(r"the closest case reaches (\d+) %", text)
        if reached is None or abs(float(reached[1]) - 100 * known[best][0]) > 0.51:
            yield f"the closest reaches {known[best][0]}: {text}"
        case = results.cases[results.cases["case"] == best].iloc[0]
        if f"The closest to its roofline: {results.label(case)}." not in text:
            yield f"the closest is {best}: {text}"
        if bool(remarks) != (" Note: " in text):
            yield f"{remarks} cases are above their roofs: {text}"
