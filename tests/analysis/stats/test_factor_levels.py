"""Parameters as factors: their values in order, bins of many values, and which follow from others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.stats.factor_levels import BINS, MAX_LEVELS, crossed, factor_of, follows, joined, text


@pytest.mark.parametrize(
    ("values", "levels", "codes"),
    [
        ([4, 1, 2, 1], (1, 2, 4), [2, 0, 1, 0]),
        (["jax", "pytorch", "jax"], ("jax", "pytorch"), [0, 1, 0]),
        (["b", "a"], ("b", "a"), [0, 1]),
        ([2, None, 1], (None, 1, 2), [2, 0, 1]),
        ([None, "eager", None], (None, "eager"), [0, 1, 0]),
        (pd.array([2, None, 10], dtype="Int64"), (None, 2, 10), [1, 0, 2]),
        ([0.5, 0.1], (0.1, 0.5), [1, 0]),
        ([None, None], (None,), [0, 0]),
    ],
)
def test_levels_are_numbers_in_order_and_texts_as_they_come_and_null_is_one(
    values: Any, levels: tuple[Any, ...], codes: list[int]
) -> None:
    factor = factor_of("x", pd.Series(values))
    assert factor.levels == levels
    assert factor.codes.tolist() == codes


def test_many_numbers_are_put_into_bins_of_as_many_cases() -> None:
    values = pd.Series([*np.random.default_rng(1).permutation(1000), None])
    factor = factor_of("seed", values)
    assert len(factor.levels) == BINS + 1
    assert factor.levels[:2] == (None, "0 to 124")
    counts = np.bincount(factor.codes)
    assert counts[0] == 1
    assert counts[1:].min() == counts[1:].max() == 125
    assert factor.codes[-1] == 0
    assert factor.name == "seed (1,000 values in 8 bins)"
    low, high = (values[factor.codes == code] for code in (1, 2))
    assert low.max() < high.min()


def test_a_value_that_most_cases_have_makes_fewer_bins() -> None:
    factor = factor_of("seed", pd.Series([*[0] * 100, *range(1, MAX_LEVELS + 1)]))
    assert factor.levels == ("0", "1", f"2 to {MAX_LEVELS}")


def test_texts_are_not_put_into_bins() -> None:
    assert len(factor_of("command", pd.Series([f"./run {number}" for number in range(99)])).levels) == 99


def test_what_follows_from_another_is_joined_to_it() -> None:
    threads = factor_of("intra_op_threads", pd.Series([1, 2, 4, 1, 2, 4]))
    cpus = factor_of("cpus_per_task", pd.Series([2, 4, 8, 2, 4, 8]))
    batch = factor_of("batch_size", pd.Series([1, 1, 1, 8, 8, 8]))
    few = factor_of("param_few", pd.Series([True, True, False, True, True, False]))
    assert follows(few.codes, threads.codes)
    assert not follows(threads.codes, few.codes)
    assert not follows(batch.codes, threads.codes)
    found = joined([few, batch, threads, cpus])
    assert [factor.name for factor in found] == ["intra_op_threads (with cpus_per_task, few)", "batch_size"]


def test_what_follows_from_another_within_each_block_is_joined_to_it() -> None:
    """Threads are 1 and 2 of one workload, 4 and 8 of the other; half of the CPUs are used, or all."""
    blocks = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    half = factor_of("param_half", pd.Series([True, False] * 4))
    threads = factor_of("intra_op_threads", pd.Series([1, 2, 1, 2, 4, 8, 4, 8]))
    batch = factor_of("batch_size", pd.Series([1, 1, 8, 8, 1, 1, 8, 8]))
    assert [factor.name for factor in joined([half, threads, batch], blocks)] == [
        "half (with intra_op_threads)",
        "batch_size",
    ]
    assert [factor.name for factor in joined([half, threads, batch])] == ["intra_op_threads (with half)", "batch_size"]


def test_crossed_levels_are_numbered_without_a_gap() -> None:
    assert crossed(np.array([0, 0, 2, 2]), np.array([1, 1, 0, 3])).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((None, "unset"), (pd.NA, "unset"), (float("nan"), "unset"), (2.0, "2"), (0.1, "0.1"), (1e-9, "1e-09")),
        (1.000000000001, "1.000000000001"),
    ],
)
def test_a_value_in_words(value: Any, said: str) -> None:
    assert text(value) == said
