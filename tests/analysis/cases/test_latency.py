"""Percentiles of single steps: pooled over runs, and none where the measurements are means or too few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.analysis.cases.latency import AVERAGED_OVER, INSTANCES, STEPS, TASKS, with_latency
from hpcbench.analysis.stats.quantiles import PERCENTILES

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]
NAMES = list(PERCENTILES)
SAMPLES = np.random.default_rng(1).permutation(np.linspace(0.1, 0.2, 3000))


def test_the_percentiles_of_a_case_pool_the_samples_of_its_repetitions(repetition: Rep, table: Table) -> None:
    """No run alone has enough measurements for the higher ones."""
    parts = np.array_split(SAMPLES, 100)
    case = case_table(table(*(repetition(0, number, part) for number, part in enumerate(parts)))).iloc[0]
    assert list(case[NAMES]) == pytest.approx(list(np.quantile(SAMPLES, list(PERCENTILES.values()))))


@pytest.mark.parametrize(("size", "known"), [(4, 0), (5, 1), (29, 2), (59, 3), (298, 3), (299, 4), (2995, 5)])
def test_a_percentile_is_empty_where_there_are_too_few_samples(
    size: int, known: int, repetition: Rep, table: Table
) -> None:
    case = case_table(table(repetition(0, 0, SAMPLES[:size]), repetition(1, 0, SAMPLES))).iloc[0]
    assert list(case[NAMES].notna()) == [number < known for number in range(5)]


def test_means_of_blocks_of_steps_have_no_percentiles(repetition: Rep, table: Table) -> None:
    """Neither where only one of the runs took blocks."""
    rows = [repetition(0, number, SAMPLES, steps_per_measurement=steps) for number, steps in enumerate([1, 7])]
    frame = table(*rows)
    case, made = case_table(frame).iloc[0], with_latency(frame)
    assert case[NAMES].isna().all()
    assert case[AVERAGED_OVER] == STEPS
    assert made[NAMES].notna().all(axis=1).tolist() == [True, False]
    assert made[AVERAGED_OVER].dropna().to_dict() == {1: STEPS}


@pytest.mark.parametrize(
    ("changes", "mean"),
    [
        ({"task": "inference"}, TASKS),
        ({"task": "inference", "nodes": 1, "tasks_per_node": 2}, TASKS),
        ({"task": "inference", "instances": 2}, INSTANCES),
        ({"task": "training", "instances": 2}, INSTANCES),
        ({"task": "inference", "nodes": 1}, None),
        ({"task": "inference", "strategy": "fsdp"}, None),
        ({"task": "training"}, None),
        ({"framework": "command", "task": None, "strategy": None}, None),
    ],
)
def test_replicas_that_infer_have_means_for_samples_and_no_percentiles(
    changes: dict[str, Any], mean: str | None, repetition: Rep, table: Table
) -> None:
    row = repetition(0, 0, SAMPLES, **{"nodes": 2, "strategy": "ddp", **changes})
    case = case_table(table(row)).iloc[0]
    assert (None if pd.isna(case[AVERAGED_OVER]) else case[AVERAGED_OVER]) == mean
    assert case[NAMES].isna().all() == (mean is not None)


def test_each_repetition_has_percentiles_of_its_own(repetition: Rep, table: Table) -> None:
    frame = table(repetition(0, 0, SAMPLES), repetition(0, 1, SAMPLES * 2), repetition(0, 2, status="failed"))
    made = with_latency(frame)
    expected = np.quantile(SAMPLES, list(PERCENTILES.values()))
    assert made[NAMES].to_numpy()[:2] == pytest.approx(np.vstack([expected, 2 * expected]))
    assert made[NAMES].loc[2].isna().all()
    before = list(made.columns)[: list(made.columns).index("steps_per_measurement")]
    assert before[-8:] == ["measurements", "time_median_s", *NAMES, AVERAGED_OVER]
    assert made["measurements"].tolist()[:2] == [SAMPLES.size] * 2
    assert made["time_median_s"].to_numpy()[:2] == pytest.approx([np.median(SAMPLES), 2 * np.median(SAMPLES)])
    assert made["time_median_s"].isna().tolist()[2:3] == [True]
    assert not set(NAMES) & set(frame.columns)


def test_a_case_without_a_completed_repetition_has_no_percentiles(repetition: Rep, table: Table) -> None:
    assert case_table(table(repetition(0, 0, status="failed"), repetition(1))).iloc[0][NAMES].isna().all()


def test_a_sample_that_is_no_time_is_part_of_no_percentile(repetition: Rep, table: Table) -> None:
    times = np.linspace(1, 2, 100)
    odd = np.concatenate([times, [np.nan, np.inf, -1.0]])
    found = with_latency(table(repetition(times_s=times), repetition(times_s=odd)))
    assert found["time_p90_s"].tolist() == [found["time_p90_s"][0]] * 2
    assert found["time_p90_s"].notna().all()
