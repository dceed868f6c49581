"""How long single steps take: percentiles of the samples, where a sample is the time of one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.statistics import percentiles
from hpcbench.node.catalog import SHARDED
from hpcbench.node.planned import COMMAND

SAMPLES = "times_s"  # the column of sample arrays, in repetition tables
INFERENCE = "inference"
PERCENTILES = {"time_p50_s": 0.5, "time_p90_s": 0.9, "time_p95_s": 0.95, "time_p99_s": 0.99, "time_p999_s": 0.999}
BLOCKS = "timed in blocks of steps"
REPLICAS = "means over the tasks"

Row = dict[Any, Any]


def latency_percentiles(repetitions: list[Row]) -> dict[str, float | None]:
    """The percentiles of all samples of some repetitions together; None where they cannot tell.

    That is where there are too few samples (statistics.fewest_samples), and where one of the repetitions has samples
    that are means (see averaged): of means of k steps, no percentile of a step can be known (Hoefler and Belli, 2015,
    "Scientific benchmarking of parallel computing systems", section 4.2.1).
    """
    if not repetitions or any(averaged(row) for row in repetitions):
        return dict.fromkeys(PERCENTILES)
    pooled = np.concatenate([row[SAMPLES] for row in repetitions])
    return dict(zip(PERCENTILES, percentiles(pooled, PERCENTILES.values()), strict=True))


def averaged(repetition: Row) -> str | None:
    """Of what the samples of a repetition are means, in words; None where each is the time of a single step."""
    if repetition["steps_per_sample"] > 1:
        return BLOCKS
    tasks = repetition["nodes"] * repetition["tasks_per_node"]
    replicas = tasks > 1 and repetition["task"] == INFERENCE and repetition["strategy"] not in SHARDED
    return REPLICAS if replicas and repetition["framework"] != COMMAND else None


def with_percentiles(repetitions: pd.DataFrame) -> pd.DataFrame:
    """The table of repetitions with the percentiles of each."""
    rows = repetitions.to_dict("records")
    found = [latency_percentiles([row] if len(row[SAMPLES]) else []) for row in rows]
    result = repetitions.copy()
    place = int(result.columns.get_indexer(["steps_per_sample"])[0])
    for name in reversed(PERCENTILES):
        result.insert(place, name, pd.Series([row[name] for row in found], dtype="float64", index=result.index))
    return result
