"""The roofline: the performance of each case relative to the peaks of its machine.

Williams, Waterman and Patterson (2009), "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 65-76:

    attainable FLOP/s = min(peak FLOP/s, intensity x bytes/s)

A case with an intensity below the ridge, at which both are equal, is memory-bound, the others are compute-bound.
Intensity is computed, not measured (see arithmetic_intensity.py). `hpcbench doctor` measures the two peaks, on the
number of cores of one node that the case uses, or on one GPU. So rates are per node, or per GPU: means if a case uses
several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.analysis.cases.quantities import THROUGHPUT
from hpcbench.analysis.studies.arithmetic_intensity import StepWork, step_work
from hpcbench.core.frameworks import INPUT_PIPELINE, OPERATOR, STEP_TASKS
from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.models.catalog import MODELS

MEMORY, COMPUTE = "memory", "compute"
_MEASURE = "to measure them: hpcbench doctor, on a cluster with --on-node --whole-node"

POINT = (
    "sweep",
    "case",
    "device",
    "processor",
    "cpus",
    "dtype",
    "intensity_flops_per_byte",
    "flops_per_s",
    "flops_per_s_ci_low",
    "flops_per_s_ci_high",
    "peak_flops_per_s",
    "peak_bytes_per_s",
    "attainable_flops_per_s",
    "share_of_attainable",
    "bound",
    "remark",
    "reason",
)
_NUMBERS = POINT[POINT.index("intensity_flops_per_byte") : POINT.index("bound")]
CEILING = ("device", "processor", "cpus", "dtype", "peak_flops_per_s", "peak_bytes_per_s", "ridge_flops_per_byte")

Row = Mapping[Any, Any]


class Ground(NamedTuple):
    """The hardware and dtype of a peak: CPUs of one node, one per core, or one GPU (`cpus` is None)."""

    device: str
    processor: str | None
    cpus: int | None
    dtype: str


class Roof(NamedTuple):
    """The peak FLOP/s and bytes/s of a ground; `bytes_per_s` is None if it was not measured."""

    flops_per_s: float
    bytes_per_s: float | None

    @property
    def ridge(self) -> float | None:
        """Return the intensity in FLOPs per byte above which cases are compute-bound; None without bandwidth."""
        return self.flops_per_s / self.bytes_per_s if self.bytes_per_s else None

    def attainable(self, intensity: float) -> float | None:
        """Return the attainable FLOP/s at an intensity in FLOPs per byte; None without bandwidth."""
        return min(self.flops_per_s, intensity * self.bytes_per_s) if self.bytes_per_s else None


class Roofline(NamedTuple):
    """The roofline of the cases.

    `points` has a row with the columns POINT for each case of a model with timed steps, and of an operator with FLOPs.
    It has the index of the case. `reason` explains a missing roofline, `remark` a rate above it. `ceilings` has a row
    with the columns CEILING for each known ground of a point.
    """

    points: pd.DataFrame
    ceilings: pd.DataFrame


def roofline(cases: pd.DataFrame, peaks: Iterable[MachinePeaks]) -> Roofline:
    """Return the roofline of `cases`, a result of case_table, given the measured peaks of machines."""
    roofs = _roofs(peaks)
    tasks = [task for task in STEP_TASKS if task != INPUT_PIPELINE]
    of_models = cases["model"].isin(list(MODELS)) & cases["task"].isin(tasks)
    of_operators = cases["task"].eq(OPERATOR) & cases["flops_per_item"].notna() & cases["bytes_per_item"].notna()
    timed = cases[(of_models | of_operators) & cases[THROUGHPUT.column].notna()]
    rows = timed.to_dict("records")
    points = pd.DataFrame([_point(row, roofs) for row in rows], index=timed.index, columns=list(POINT))
    points = points.astype({"cpus": "Int64", **dict.fromkeys(_NUMBERS, "float64")})
    return Roofline(points, _ceilings(rows, roofs))


def ceilings(cases: pd.DataFrame, peaks: Iterable[MachinePeaks]) -> pd.DataFrame:
    """Return a row with the columns CEILING for each known ground of the cases."""
    return _ceilings(cases.to_dict("records"), _roofs(peaks))


def _ceilings(rows: Iterable[Row], roofs: Mapping[Ground, Roof]) -> pd.DataFrame:
    used = dict.fromkeys(ground for ground in map(_ground, rows) if ground in roofs)
    found = pd.DataFrame([_ceiling(ground, roofs[ground]) for ground in used], columns=list(CEILING))
    return found.astype({"cpus": "Int64"})


def _roofs(peaks: Iterable[MachinePeaks]) -> dict[Ground, Roof]:
    """Return the highest peaks by ground, since several types of nodes may have the same CPUs."""
    roofs: dict[Ground, Roof] = {}
    for machine in peaks:
        for peak in machine.measurements:
            ground = _ground_of(machine, peak)
            flops, moved = roofs.get(ground, Roof(0.0, None))
            known = [rate for rate in (moved, peak.bytes_per_s) if rate is not None]
            roofs[ground] = Roof(max(flops, peak.flops_per_s), max(known, default=None))
    return roofs


def _ground_of(machine: MachinePeaks, peak: Peak) -> Ground:
    processor = machine.gpu_model if peak.device == "gpu" else machine.cpu_model
    return Ground(peak.device, processor, peak.cpus, peak.dtype)


def _ground(row: Row) -> Ground:
    gpu = row["device"] == "gpu"
    processor = row["gpu_model" if gpu else "cpu_model"]
    cpus = None if gpu else int(row["tasks_per_node"] * _cores(row))
    return Ground(row["device"], None if pd.isna(processor) else processor, cpus, row["dtype"])


def _cores(row: Row) -> int:
    """Return the cores of a task, summed over instances, at most its CPUs; its CPUs if cores are unknown."""
    cpus, cores = row["cpus_per_task"], row["physical_cores_per_task"]
    return int(cpus if pd.isna(cores) else min(cpus, row["instances"] * cores))


def _point(row: Row, roofs: Mapping[Ground, Roof]) -> dict[str, Any]:
    ground = _ground(row)
    shares = row["nodes"] if ground.device == "cpu" else row["nodes"] * row["tasks_per_node"]  # one GPU per task
    rate = float(row["flops_per_item"] * row[THROUGHPUT.column] / shares)
    low, high = (_scaled(rate, row["time_median_s"], row[name]) for name in ("time_ci_high_s", "time_ci_low_s"))
    point = {
        **dict.fromkeys(POINT),
        **{name: row[name] for name in ("sweep", "case")},
        **ground._asdict(),
        "flops_per_s": rate,
        "flops_per_s_ci_low": low,
        "flops_per_s_ci_high": high,
    }
    try:
        work = _work(row, ground.dtype)
    except ValueError as error:
        return {**point, "reason": str(error)}
    return {**point, "intensity_flops_per_byte": work.intensity, **_under(rate, work.intensity, ground, roofs)}


def _work(row: Row, dtype: str) -> StepWork:
    """Return the FLOPs and bytes of a step. Raise ValueError if they are unknown."""
    if row["task"] == OPERATOR:
        return StepWork(int(row["flops_per_item"]), int(row["bytes_per_item"]))
    update = (row["optimizer"], int(row["gradient_accumulation_steps"]))
    return step_work(row["model"], row["model_options"], row["task"], int(row["batch_size"]), dtype, *update)


def _scaled(rate: float, median_s: float, limit_s: Any) -> float | None:
    """Return the rate for a step time of `limit_s` instead of `median_s`; None if the limit is unknown or 0."""
    return None if pd.isna(limit_s) or limit_s <= 0 else float(rate * median_s / limit_s)


def _under(rate: float, intensity: float, ground: Ground, roofs: Mapping[Ground, Roof]) -> dict[str, Any]:
    """Return the columns of a point that depend on its roofline, or the reason why it is unknown."""
    roof = roofs.get(ground)
    if roof is None:
        return {"reason": _unknown(ground, roofs)}
    peaks = {"peak_flops_per_s": roof.flops_per_s, "peak_bytes_per_s": roof.bytes_per_s}
    attainable = roof.attainable(intensity)
    if attainable is None:
        return {**peaks, "reason": "the memory bandwidth was not measured on this machine"}
    return {
        **peaks,
        "attainable_flops_per_s": attainable,
        "share_of_attainable": rate / attainable,
        "bound": MEMORY if attainable < roof.flops_per_s else COMPUTE,
        "remark": _remark(rate, attainable, roof.flops_per_s),
    }


def _remark(rate: float, attainable: float, peak: float) -> str | None:
    if rate > peak:
        return f"{rate / peak:.2f} times the measured peak: measure the peak again"
    if rate > attainable:
        return f"{rate / attainable:.2f} times the attainable performance: caches or fused layers avoid counted traffic"
    return None


def _unknown(ground: Ground, roofs: Mapping[Ground, Roof]) -> str:
    """Return the reason why a ground has no roofline."""
    named = ground.processor or f"its {ground.device.upper()} (model unknown)"
    alike = [known for known in roofs if known[:2] == ground[:2]]
    if not alike:
        return f"the peaks of {named} are unknown: {_MEASURE}"
    in_dtype = sorted(known.cpus for known in alike if known.dtype == ground.dtype and known.cpus is not None)
    if not in_dtype:
        return f"the peak in {ground.dtype} is unknown for {named}"
    known = ", ".join(map(str, in_dtype))
    return f"peaks of {named} are known for {known} cores of a node, but the case used {ground.cpus}"


def _ceiling(ground: Ground, roof: Roof) -> dict[str, Any]:
    return dict(zip(CEILING, (*ground, *roof, roof.ridge), strict=True))
