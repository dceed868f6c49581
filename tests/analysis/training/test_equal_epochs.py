"""Accuracy after equal epochs: what is compared, after how many epochs, and the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.training.equal_epochs import accuracy_by_epoch, equal_epochs, verdict
from tests.report.synthetic_results import case, results

NAMES = ("framework", "model", "strategy", "batch_size", "nodes", "tasks_per_node", "target_accuracy", "seed")
Curve = Sequence[float]


def trained(*arms: tuple[dict[str, Any], Sequence[Curve]], runs: int = 1) -> Results:
    """Return the results of a case per arm and seed, whose curves are given by seed."""
    cases, curves = [], []
    for changes, by_seed in arms:
        for seed, curve in enumerate(by_seed):
            curves.append(curve)
            cases.append(case(1.0, task="time_to_accuracy", target_accuracy=0.9, seed=seed, **changes))
    made = results(*cases, repetitions=runs, samples=1)
    rows = [
        ("sweep-1", f"case-{place}", run, epoch, accuracy)
        for place, curve in enumerate(curves)
        for run in range(runs)
        for epoch, accuracy in enumerate(curve, 1)
    ]
    return replace(made, epochs=pd.DataFrame(rows, columns=["sweep", "case", "run", "epoch", "accuracy"]))


def rows_of(*arms: tuple[dict[str, Any], Sequence[Curve]], runs: int = 1) -> list[dict[str, Any]]:
    return equal_epochs(trained(*arms, runs=runs), NAMES).to_dict("records")


ONE = {"strategy": "single", "batch_size": 32}
TWO = {"strategy": "ddp", "batch_size": 32, "tasks_per_node": 2}


def test_accuracies_are_those_after_the_last_epoch_that_all_runs_have() -> None:
    (row,) = rows_of((ONE, [[0.5, 0.8, 0.85]]), (TWO, [[0.4, 0.7]]))
    assert (row["epoch"], row["accuracy"], row["base_accuracy"]) == (2, 0.7, 0.8)
    assert row["difference"] == pytest.approx(-0.1)
    assert (row["strategy"], row["ranks"], row["base_strategy"]) == ("ddp", 2, "single")
    assert (row["cases"], row["base_cases"]) == (["case-1"], ["case-0"])


def test_the_epoch_in_which_a_run_ends_by_reaching_the_target_does_not_count() -> None:
    (row,) = rows_of((ONE, [[0.5, 0.7, 0.8, 0.9]]), (TWO, [[0.5, 0.7, 0.91], [0.5, 0.7, 0.8, 0.89]]))
    assert (row["epoch"], row["difference"]) == (2, 0), "the first run of two ranks is higher at 3 by selection"
    assert rows_of((ONE, [[0.9]]), (TWO, [[0.5, 0.9]])) == []


def test_a_quick_arm_does_not_shorten_the_comparisons_of_others() -> None:
    quick = {**TWO, "strategy": "local_sgd"}
    rows = rows_of((ONE, [[0.5, 0.6, 0.7, 0.9]]), (quick, [[0.6, 0.9]]), (TWO, [[0.5, 0.6, 0.7, 0.8]]))
    assert [(row["strategy"], row["epoch"]) for row in rows] == [("local_sgd", 1), ("ddp", 3)]


def test_a_run_whose_record_lacks_an_epoch_is_left_out() -> None:
    made = trained((ONE, [[0.5, 0.7]]), (TWO, [[0.4, 0.6, 0.7], [0.5, 0.7]]))
    epochs = made.epochs[~(made.epochs["case"].eq("case-1") & made.epochs["epoch"].eq(2))]
    (row,) = equal_epochs(replace(made, epochs=epochs), NAMES).to_dict("records")
    assert (row["cases"], row["epoch"], row["accuracy"]) == (["case-2"], 2, 0.7)


def test_the_arm_of_one_rank_agrees_in_the_version_and_in_most_of_the_context() -> None:
    other = {**ONE, "environment": "other", "cpus_per_task": 4}
    arm = {**TWO, "environment": "other", "cpus_per_task": 4}
    (row,) = rows_of((ONE, [[0.5]]), ({**other, "strategy": "ddp"}, [[0.6]]), (other, [[0.7]]), (arm, [[0.4]]))
    assert (row["base_accuracy"], row["base_strategy"]) == (0.7, "single")
    (row,) = rows_of((ONE, [[0.5]]), ({**other, "strategy": "ddp"}, [[0.6]]), (arm, [[0.4]]))
    assert (row["base_accuracy"], row["base_strategy"]) == (0.6, "ddp")
    assert rows_of((ONE, [[0.5]]), ({**TWO, "framework_version": "2.14.0"}, [[0.4]])) == []


def test_the_arm_of_one_rank_has_the_same_batch_per_rank_or_the_same_global_batch() -> None:
    whole = {"strategy": "ddp", "batch_size": 16, "tasks_per_node": 2}
    found = rows_of((ONE, [[0.5]]), (TWO, [[0.4]]), (whole, [[0.6]]), ({**ONE, "batch_size": 64}, [[0.3]]))
    assert [(row["batch_size"], row["equal_batch"], row["base_accuracy"]) for row in found] == [
        (32, "per rank", 0.5),
        (32, "global", 0.3),
        (16, "global", 0.5),
    ]


def test_the_strategy_single_is_preferred_as_the_arm_of_one_rank() -> None:
    (row,) = rows_of(({**TWO, "tasks_per_node": 1}, [[0.2]]), (ONE, [[0.5]]), (TWO, [[0.4]]))
    assert (row["base_strategy"], row["base_accuracy"]) == ("single", 0.5)
    (row,) = rows_of(({**TWO, "tasks_per_node": 1}, [[0.2]]), (TWO, [[0.4]]))
    assert row["base_strategy"] == "ddp"


def test_trainings_that_differ_in_anything_else_are_not_compared() -> None:
    assert rows_of((ONE, [[0.5]]), ({**TWO, "framework": "jax"}, [[0.4]])) == []
    assert rows_of((ONE, [[0.5]]), ({**TWO, "model": "lstm"}, [[0.4]])) == []
    assert rows_of((ONE, [[0.5]]), ({**TWO, "batch_size": 8}, [[0.4]])) == []
    assert equal_epochs(results(case(1.0), case(1.0, tasks_per_node=2)), NAMES).empty


def test_differences_are_paired_over_seeds() -> None:
    seeds = [0.50, 0.60, 0.70, 0.80]
    (row,) = rows_of((ONE, [[seed] for seed in seeds]), (TWO, [[seed - 0.05 + 0.001 * (seed > 0.6)] for seed in seeds]))
    assert (row["basis"], row["n"], row["verdict"]) == ("seeds", 4, "lower")
    assert row["difference"] == pytest.approx(-0.0495)
    assert -0.0507 < row["difference_ci_low"] < -0.0495 < row["difference_ci_high"] < -0.0483  # t(3) 3.18 x 0.00029
    assert row["accuracy"] - row["base_accuracy"] == pytest.approx(row["difference"])


def test_a_single_seed_gives_a_ci_over_runs_and_no_verdict() -> None:
    (row,) = rows_of((ONE, [[0.5]]), (TWO, [[0.4]]), runs=3)
    assert (row["basis"], row["n"], row["verdict"]) == ("runs", 3, "inconclusive")
    assert row["difference_ci_low"] == pytest.approx(-0.1)
    (row,) = rows_of((ONE, [[0.5]]), (TWO, [[0.4]]))
    assert pd.isna(row["difference_ci_low"])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.009, 0.009, "equal"),
        (-0.009, -0.001, "equal"),  # significant, but too small to matter
        (-0.05, -0.001, "lower"),
        (0.001, 0.05, "higher"),
        (-0.02, 0.001, "inconclusive"),
        (-0.5, 0.5, "inconclusive"),
        (None, None, "inconclusive"),
    ],
)
def test_a_ci_that_contains_zero_and_more_than_the_margin_gives_no_verdict(
    low: float | None, high: float | None, expected: str
) -> None:
    assert verdict(Interval(0.0, low, high), "seeds") == expected


def test_epochs_to_the_target_are_of_the_runs_that_reached_it() -> None:
    (row,) = rows_of((ONE, [[0.5, 0.6, 0.9], [0.6, 0.9]]), (TWO, [[0.4, 0.5], [0.5, 0.91]]))
    assert (row["base_epochs_to_target"], row["base_missed"]) == (2.5, 0)
    assert (row["epochs_to_target"], row["missed"]) == (2, 1)


def test_the_curve_of_an_arm_is_the_mean_over_its_runs() -> None:
    found = trained((ONE, [[0.5, 0.8], [0.7, 0.9]]), (TWO, [[0.4], [0.6]]))
    (row,) = equal_epochs(found, NAMES).to_dict("records")
    assert accuracy_by_epoch(found, row, "cases").to_dict() == {1: pytest.approx(0.5)}
    assert accuracy_by_epoch(found, row, "base_cases").to_dict() == {1: pytest.approx(0.6)}  # equal epochs
