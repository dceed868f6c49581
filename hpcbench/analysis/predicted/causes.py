"""Conditions of a measurement that its prediction does not have, as far as the table of cases shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from hpcbench.analysis.predicted.columns import CLOCK
from hpcbench.core.frameworks import GRAPH
from hpcbench.core.samples import INTERFERENCE

_LISTED_BY_ITSELF = ("pytorch", "onnxruntime")  # frameworks whose own operators are predicted
_FULL_SPEED = "performance"
_SAME_CLOCK = 0.02  # relative difference of clocks that count as equal, as in profiles


def differences(case: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the conditions of a case that differ from those of its prediction; none explains a deviation for certain.

    A prediction is for eager operators, for as many cores as threads at full clock, and for a machine without other
    load.
    """
    if case.get("interference") == INTERFERENCE:
        yield "all runs had interference"
    yield from _of_threads(case)
    clock, boost = (float(case[name]) if _known(case, name) else 0.0 for name in ("gpu_clock_mhz", CLOCK))
    if clock and boost and abs(clock / boost - 1) > _SAME_CLOCK:
        yield f"mean GPU clock {clock:,.0f} MHz, boost clock {boost:,.0f} MHz"
    if case.get("device") == "cpu" and _known(case, "cpu_governor") and case["cpu_governor"] != _FULL_SPEED:
        yield f"CPU frequency governor {case['cpu_governor']}"
    if case.get("execution") == GRAPH:
        yield "graph execution, predicted as eager"
    if case.get("framework") not in _LISTED_BY_ITSELF:
        yield f"{case.get('framework')}, predicted with the operators of PyTorch"


def _of_threads(case: Mapping[Any, Any]) -> Iterator[str]:
    if case.get("device") != "cpu":
        return
    asked, used = (_count(case, name) for name in ("intra_op_threads", "effective_intra_op_threads"))
    cores = _count(case, "physical_cores_per_task")
    if asked and used and asked != used:
        yield f"{used} threads in effect instead of {asked}"
    threads = used or asked
    if threads and cores and threads > cores:
        yield f"{threads} threads on {cores} physical {'core' if cores == 1 else 'cores'}"


def _count(case: Mapping[Any, Any], name: str) -> int:
    """Return a whole number of a case; 0 if it is unknown."""
    return int(case[name]) if _known(case, name) else 0


def _known(case: Mapping[Any, Any], name: str) -> bool:
    return name in case and not pd.isna(case[name])
