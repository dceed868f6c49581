"""Rules mined from tables where it is known which ones hold, and where they do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.stats.intervals import Interval
from hpcbench.analysis.studies.guidelines import mine, wilson
from hpcbench.analysis.studies.rule_conditions import Condition
from hpcbench.analysis.studies.tuning_contexts import TUNABLES, TuningContexts

Matrix = Callable[..., Any]
AXES = {
    "batch_size": [1, 2, 4, 8, 16, 32],
    "cpus_per_task": [2, 4],
    "intra_op_threads": [1, 2, 4],
    "inter_op_threads": [1, 2],
}
AS_MANY_AS_CPUS = Condition("intra_op_threads", 1.0, "cpus_per_task")


def contexts(cases: pd.DataFrame, tunables: Sequence[str] = TUNABLES) -> int:
    """Of how many contexts several settings were measured, which is what rules can be mined from."""
    return TuningContexts.of(cases, tunables).contexts


def steady(seconds: Callable[..., float]) -> Callable[..., list[float]]:
    """Three runs that vary by a thousandth."""
    return lambda **point: [seconds(**point) * factor for factor in (0.999, 1.0, 1.001)]


def threaded(batch_size: int, cpus_per_task: int, intra_op_threads: int, inter_op_threads: int) -> float:
    """As many threads as CPUs are best, and a second queue costs a tenth; but one thread is best at a batch of 1."""
    used = 1 / intra_op_threads if batch_size > 1 else intra_op_threads
    crowded = 3.0 if intra_op_threads > cpus_per_task else 1.0
    return used * crowded * (0.9 + 0.1 * inter_op_threads)


def test_the_rule_that_holds_is_found_with_its_counter_examples(matrix: Matrix) -> None:
    cases = matrix(steady(threaded), **AXES).cases
    best = mine(cases)[0]
    assert set(best.conditions) == {AS_MANY_AS_CPUS, Condition("inter_op_threads", 1)}
    assert (best.support, best.within, best.unclear) == (12, 10, 0)
    assert best.share == wilson(10, 12)
    assert [(each.context, each.slower) for each in best.counter_examples] == [
        ((("batch_size", "1"), ("cpus_per_task", "4")), pytest.approx(4)),
        ((("batch_size", "1"), ("cpus_per_task", "2")), pytest.approx(2)),
    ]
    assert best.sentence == (
        "inter_op_threads = 1, intra_op_threads = cpus_per_task: within 2 % of the best in 10 of 12 contexts "
        "(83 % [55 %, 95 %]); otherwise up to 4.00x as slow (batch_size=1 cpus_per_task=4)"
    )
    named = cases[cases["case"] == best.counter_examples[0].case.split("/")[1]].iloc[0]
    assert (named["batch_size"], named["intra_op_threads"], named["inter_op_threads"]) == (1, 4, 1)


def test_a_shorter_rule_of_the_same_quality_is_told_alone(matrix: Matrix) -> None:
    cases = matrix(steady(lambda **point: 1 / point["intra_op_threads"]), **{**AXES, "cpus_per_task": [4]}).cases
    assert [each.words for each in mine(cases)] == ["intra_op_threads = 4"]


def test_a_second_condition_is_told_where_it_is_needed(matrix: Matrix) -> None:
    cases = matrix(
        steady(lambda **p: p["inter_op_threads"] / p["intra_op_threads"]), **{**AXES, "cpus_per_task": [4]}
    ).cases
    told = mine(cases)
    assert [sorted(condition.words for condition in each.conditions) for each in told] == [
        ["inter_op_threads = 1", "intra_op_threads = 4"]
    ]
    assert told[0].share.estimate == 1
    assert told[0].counter_examples == ()


def test_relations_to_cores_and_what_nobody_set_are_rules(matrix: Matrix) -> None:
    def seconds(cpus_per_task: int, intra_op_threads: int | None, **others: int) -> float:
        return 1.0 if intra_op_threads == cpus_per_task // 2 else 1.5

    axes = {"batch_size": [1, 2, 4], "cpus_per_task": [4, 8], "intra_op_threads": [None, 2, 4, 8]}
    cases = matrix(steady(seconds), **axes).cases
    cases["physical_cores_per_task"] = (cases["cpus_per_task"] // 2).astype("Int64")
    assert [each.words for each in mine(cases)] == ["intra_op_threads = half of cpus_per_task"]
    cases.loc[cases["batch_size"] == 1, "physical_cores_per_task"] = None  # not told there
    assert [each.words for each in mine(cases)] == ["intra_op_threads = half of cpus_per_task"]
    cases["cpus_per_task"] = 16
    cases["batch_size"] = range(len(cases))  # contexts of one setting each
    assert mine(cases) == []
    unset = matrix(steady(lambda **point: 1.0 if point["intra_op_threads"] is None else 2.0), **axes).cases
    assert [each.words for each in mine(unset)] == ["intra_op_threads unset (the framework's default)"]


def test_as_many_threads_as_physical_cores(matrix: Matrix) -> None:
    axes = {"batch_size": [1, 2, 4], "cpus_per_task": [3, 8], "intra_op_threads": [1, 2, 4, 8]}
    cores = {3: 2, 8: 4}  # neither all of the CPUs nor always half of them
    cases = matrix(steady(lambda **p: 1.0 if p["intra_op_threads"] == cores[p["cpus_per_task"]] else 2.0), **axes).cases
    cases["physical_cores_per_task"] = cases["cpus_per_task"].map(cores).astype("Int64")
    assert mine(cases)[0].words == "intra_op_threads = physical cores"
    cases["affinity"] = "scatter"  # which leaves as many cores as there are threads
    assert not any("physical" in each.words for each in mine(cases))


def test_with_too_few_contexts_nothing_is_told(matrix: Matrix) -> None:
    cases = matrix(steady(threaded), **{**AXES, "batch_size": [2, 4]}).cases
    assert contexts(cases) == 4
    assert mine(cases) == []
    assert mine(cases, fewest=4) != []


def test_a_context_of_one_setting_says_nothing(matrix: Matrix) -> None:
    axes = {"batch_size": list(range(1, 11)), "intra_op_threads": [4]}
    cases = matrix(steady(lambda **point: 1.0), **axes).cases
    assert contexts(cases) == 0
    assert mine(cases) == []


def test_a_rule_that_holds_in_half_of_the_contexts_is_none(matrix: Matrix) -> None:
    seconds = steady(lambda batch_size, intra_op_threads: 1.0 if batch_size % 2 == intra_op_threads % 2 else 2.0)
    cases = matrix(seconds, batch_size=list(range(1, 21)), intra_op_threads=[1, 2]).cases
    assert mine(cases) == []


def test_a_rule_that_another_one_surpasses_everywhere_is_not_told(matrix: Matrix) -> None:
    """Two threads are as good as four in 16 of 20 contexts, and four are never worse."""

    def seconds(batch_size: int, intra_op_threads: int) -> float:
        return {1: 2.0, 2: 1.5 if batch_size > 16 else 1.01, 4: 1.0}[intra_op_threads]

    axes = {"batch_size": list(range(1, 21)), "intra_op_threads": [1, 2, 4]}
    assert [each.words for each in mine(matrix(steady(seconds), **axes).cases)] == ["intra_op_threads = 4"]


def test_a_context_where_every_setting_follows_a_rule_is_no_support(matrix: Matrix) -> None:
    """In ten contexts more, four threads are all that was tried, with one queue and two."""

    def seconds(batch_size: int, intra_op_threads: int, inter_op_threads: int) -> list[float] | None:
        tried = batch_size <= 5 or intra_op_threads == 4
        return steady(lambda: 1 / intra_op_threads)() if tried else None

    axes = {"batch_size": list(range(1, 16)), "intra_op_threads": [1, 4], "inter_op_threads": [1, 2]}
    cases = matrix(seconds, **axes).cases
    assert contexts(cases) == 15
    told = {each.words: each.support for each in mine(cases)}
    assert told["intra_op_threads = 4"] == 5


def test_where_settings_do_not_matter_that_is_the_rule(matrix: Matrix) -> None:
    cases = matrix(steady(lambda **point: 1.0 + 0.001 * point["intra_op_threads"]), **AXES).cases
    told = mine(cases)
    assert [each.conditions for each in told] == [()]
    assert told[0].sentence == "every setting: within 2 % of the best in 12 of 12 contexts (100 % [76 %, 100 %])"


def test_where_noise_hides_all_differences_no_rule_is_told(matrix: Matrix) -> None:
    generator = np.random.default_rng(3)
    for _ in range(5):
        cases = matrix(lambda **point: generator.lognormal(0, 0.2, 3).tolist(), **AXES).cases
        assert all(each.conditions == () for each in mine(cases))


def test_what_noise_could_have_made_slower_is_no_counter_example_and_counted(matrix: Matrix) -> None:
    """At a batch of 1 the best is another one by 5 %, and runs vary by more."""

    def seconds(batch_size: int, intra_op_threads: int) -> list[float]:
        if batch_size > 1:
            return [2 / intra_op_threads * factor for factor in (0.999, 1.0, 1.001)]
        return [(1.0 if intra_op_threads == 1 else 1.05) * factor for factor in (0.9, 1.0, 1.1)]

    cases = matrix(seconds, batch_size=[1, 2, 4, 8, 16, 32], intra_op_threads=[1, 2]).cases
    told = mine(cases)
    assert [each.words for each in told] == ["intra_op_threads = 2"]
    assert (told[0].support, told[0].within, told[0].unclear, told[0].counter_examples) == (6, 6, 1, ())
    assert "in 1 of them within the noise" in told[0].sentence
    without = cases.assign(time_ci_low_s=None, time_ci_high_s=None)  # single repetitions
    assert mine(without) == []


def test_only_equal_work_on_equal_machines_is_one_context(matrix: Matrix) -> None:
    cases = matrix(steady(threaded), **AXES).cases
    assert contexts(cases) == 12
    assert contexts(cases.assign(math_mode=["a", "b"] * 36)) == 24
    assert contexts(cases.assign(cpu_model=["a", "b"] * 36)) == 24
    assert contexts(cases, tunables=["intra_op_threads"]) == 24
    assert contexts(cases, tunables=["intra_op_threads", "inter_op_threads", "cpus_per_task"]) == 6


def test_the_worst_setting_that_follows_a_rule_counts(matrix: Matrix) -> None:
    """One thread is best with one queue, and worst with two: it is no rule by itself."""
    best = {(1, 1): 1.0, (1, 2): 3.0, (2, 1): 2.0, (2, 2): 2.0}
    seconds = steady(lambda batch_size, intra_op_threads, inter_op_threads: best[intra_op_threads, inter_op_threads])
    axes = {"batch_size": list(range(1, 9)), "intra_op_threads": [1, 2], "inter_op_threads": [1, 2]}
    told = mine(matrix(seconds, **axes).cases)
    assert [set(each.conditions) for each in told] == [
        {Condition("intra_op_threads", 1), Condition("inter_op_threads", 1)}
    ]


def test_nothing_is_known_of_a_share_of_nothing() -> None:
    share = wilson(0, 0)
    assert math.isnan(share.estimate)
    assert share[1:] == (0, 1)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_share_is_wilson_s(successes: int, trials: int, low: float, high: float) -> None:
    """Newcombe, 1998, "Two-sided intervals for the single proportion", Statistics in Medicine 17: table I."""
    found = wilson(successes, trials)
    assert found == Interval(successes / trials, pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
