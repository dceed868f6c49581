"""Which parameter explains the variation: by hand, with missing cases, confounded factors, many, and no effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from hpcbench.analysis.stats import anova
from hpcbench.analysis.studies.importance import MAX_FACTORS, SIGNIFICANCE, Importance, importance
from hpcbench.report.text.importance_sentences import sentences

Matrix = Callable[..., Any]
THREADS = ["intra_op_threads", "batch_size"]
# Ranks of the repetitions: by hand, with a mean of 6.5 and 143 squares in all, threads have 75, batch_size has 48,
# both together nothing more, and noise has 20 with 8 degrees of freedom.
RANKS = {(2, 1): (1, 2, 3), (2, 8): (4, 5, 9), (1, 1): (6, 7, 8), (1, 8): (10, 11, 12)}


def by_hand(intra_op_threads: int, batch_size: int) -> list[float]:
    """Times with these ranks; what they are does not matter."""
    return [2.0**rank for rank in RANKS[intra_op_threads, batch_size]]


def noisy(seconds: Callable[..., float], repetitions: int = 5, noise: float = 0.02) -> Callable[..., list[float]]:
    generator = np.random.default_rng(11)
    return lambda **point: (seconds(**point) * generator.lognormal(0, noise, repetitions)).tolist()


def shares(found: Importance) -> dict[str, float]:
    return {each.name: each.share for each in found.factors}


def test_shares_and_p_values_are_those_computed_by_hand(matrix: Matrix) -> None:
    found = importance(*matrix(by_hand, intra_op_threads=[1, 2], batch_size=[1, 8]), THREADS)
    assert (found.cases, found.repetitions, found.reason) == (4, 12, None)
    assert shares(found) == pytest.approx({"intra_op_threads": 75 / 143, "batch_size": 48 / 143})
    assert found.together == pytest.approx(123 / 143)
    assert found.noise == pytest.approx(20 / 143)
    assert found.interaction is None
    expected = [2 * scipy.stats.f.sf(ratio, 1, 8) for ratio in (30, 19.2)]  # of two factors
    assert [each.p_value for each in found.factors] == pytest.approx(expected)


def test_one_factor_is_kruskal_s_test(matrix: Matrix) -> None:
    times = {1: [5.0, 6, 9, 2], 2: [1.0, 3, 4, 7], 4: [8.0, 10, 11, 12]}
    tables = matrix(lambda intra_op_threads: times[intra_op_threads], intra_op_threads=list(times))
    found = importance(*tables, ["intra_op_threads"])
    assert found.factors[0].share * 11 == pytest.approx(scipy.stats.kruskal(*times.values()).statistic)


def test_a_factor_that_follows_from_another_is_told_with_it(matrix: Matrix) -> None:
    tables = matrix(
        noisy(lambda intra_op_threads, batch_size: 3 / intra_op_threads), intra_op_threads=[1, 2, 4], batch_size=[1, 8]
    )
    for table in tables:
        table["cpus_per_task"] = table["intra_op_threads"] * 2
    found = importance(*tables, [*THREADS, "cpus_per_task"])
    assert [each.name for each in found.factors] == ["intra_op_threads (with cpus_per_task)", "batch_size"]
    assert found.factors[0].effects[0].ratio.estimate == pytest.approx(4, rel=0.05)
    assert not found.factors[1].is_significant


def test_missing_cases_do_not_lend_the_effect_of_one_factor_to_another(matrix: Matrix) -> None:
    """Without most of the cases on the diagonal, a large batch goes along with many threads."""

    def seconds(intra_op_threads: int, batch_size: int, inter_op_threads: int) -> list[float] | None:
        gone = abs(intra_op_threads - batch_size) > 1 and inter_op_threads > 1
        return None if gone else measured(intra_op_threads=intra_op_threads)

    measured = noisy(lambda intra_op_threads: 4.0**-intra_op_threads, noise=0.1)
    axes = {"intra_op_threads": [1, 2, 3, 4], "batch_size": [1, 2, 3, 4], "inter_op_threads": [1, 2, 3, 4]}
    found = importance(*matrix(seconds, **axes), list(axes))
    assert {each.name for each in found.factors if each.is_significant} == {"intra_op_threads"}
    assert shares(found)["batch_size"] < 0.01


def test_what_is_more_than_noise_and_may_be_another_factor_s_is_told_as_that(matrix: Matrix) -> None:
    """One task, two tasks and two nodes, by two strategies: too few cases to tell nodes from how strategies differ."""
    measured = noisy(lambda **p: (p["batch_size"] + 1.5) * p["nodes"] ** 2.5 * p["intra_op_threads"] ** 1.9, 6)
    tables = matrix(
        lambda **point: None if point["nodes"] * point["intra_op_threads"] == 4 else measured(**point),
        batch_size=[0, 1],
        nodes=[1, 2],
        intra_op_threads=[1, 2],
    )
    found = importance(*tables, ["batch_size", "nodes", "intra_op_threads"])
    told = sentences(found)
    assert "Significant for the throughput, but not attributable with these cases: nodes, intra_op_threads." in told
    assert not any("Possibly only noise" in sentence for sentence in told)


def test_what_two_factors_explain_alike_is_told_of_neither(matrix: Matrix) -> None:
    """Batch sizes go with threads, save for a few cases."""
    kept = {(1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (1, 2, 1), (1, 1, 2), (2, 2, 2), (3, 3, 2), (4, 4, 2)}
    measured = noisy(lambda intra_op_threads, **others: 4.0**-intra_op_threads)
    axes = {"intra_op_threads": [1, 2, 3, 4], "batch_size": [1, 2, 3, 4], "inter_op_threads": [1, 2]}
    tables = matrix(lambda **point: measured(**point) if tuple(point.values()) in kept else None, **axes)
    found = importance(*tables, list(axes))
    assert found.together > 0.9
    assert sum(shares(found).values()) < 0.5
    assert any("cannot be separated" in sentence for sentence in sentences(found))


def test_a_ratio_that_depends_on_another_factor_is_told_where_it_helps_and_where_not(matrix: Matrix) -> None:
    gain = {1: {1: 0.9, 2: 1.0}, 64: {1: 1.8, 2: 1.0}}
    tables = matrix(
        lambda batch_size, intra_op_threads: [gain[batch_size][intra_op_threads] * f for f in (0.999, 1.0, 1.001)],
        intra_op_threads=[1, 2],
        batch_size=[1, 64],
    )
    found = importance(*tables, THREADS)
    assert found.interaction is not None
    assert found.interaction.p_value <= SIGNIFICANCE
    told = next(sentence for sentence in sentences(found) if "together" in sentence)
    assert told.endswith(" 2 instead of 1 helps at batch_size=64 (1.80x) but not at batch_size=1 (0.90x).")


def test_an_interaction_that_only_ranks_make_up_is_not_told(matrix: Matrix) -> None:
    """Twice as fast everywhere; in the ranks, less where no other case is near (Thompson, 1991)."""
    base = {1: 1.0, 2: 1.5, 3: 16.0}
    tables = matrix(
        noisy(lambda **point: base[point["batch_size"]] * point["intra_op_threads"], 8),
        intra_op_threads=[1, 2],
        batch_size=[1, 2, 3],
    )
    ranks = scipy.stats.rankdata(np.concatenate(tables.repetitions["times_s"]))
    data = anova.case_means(ranks, np.repeat(np.arange(6), 8))
    one, other = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    made_up = anova.explained(data, [np.arange(6)]).beyond(anova.explained(data, [one, other]))
    assert anova.f_test(made_up, data.noise) < 1e-4
    assert importance(*tables, THREADS).interaction is None


@pytest.mark.parametrize(("matrices", "at_most"), [(8, 1), pytest.param(50, 4, marks=pytest.mark.soak)])
def test_nothing_is_claimed_where_there_is_nothing(matrix: Matrix, matrices: int, at_most: int) -> None:
    """Of 50 matrices of noise, each with two factors and their interaction, one may cry wolf at a level of 1 %."""
    generator = np.random.default_rng(2)
    tables = matrix(lambda **point: [1.0] * 3, intra_op_threads=[1, 2, 3], batch_size=[1, 2, 3, 4])
    alarms = 0
    for _ in range(matrices):
        noise = [generator.lognormal(0, 0.1, 1) for _ in range(len(tables.repetitions))]
        found = importance(tables.cases, tables.repetitions.assign(times_s=noise), THREADS)
        alarms += any(each.is_significant for each in found.factors) or found.interaction is not None
    assert alarms <= at_most


def test_random_columns_do_not_borrow_from_interactions_that_are_in_no_sum(matrix: Matrix) -> None:
    """Against the small noise between runs alone, several of these would seem to do something."""
    generator = np.random.default_rng(3)
    tables = matrix(
        noisy(lambda **p: 1 + abs(p["batch_size"] - p["intra_op_threads"]) * p["inter_op_threads"], 3, 0.001),
        intra_op_threads=[1, 2, 3, 4],
        batch_size=[1, 2, 3, 4],
        inter_op_threads=[1, 2, 3],
    )
    names = [f"param_{number}" for number in range(5)]
    for name in names:
        tables.cases[name] = generator.integers(0, 3, len(tables.cases))
    found = importance(*tables, [*THREADS, "inter_op_threads", *names])
    assert [each.name for each in found.factors if each.is_significant and each.name.isdigit()] == []
    assert any(each.is_significant for each in found.factors)


def test_of_fifty_axes_the_strongest_are_told_and_the_others_named(matrix: Matrix) -> None:
    tables = matrix(
        noisy(lambda **point: 3 / point["intra_op_threads"]), intra_op_threads=[1, 2, 4], batch_size=list(range(1, 21))
    )
    generator = np.random.default_rng(5)
    names = [f"param_{number}" for number in range(50)]
    for name in names:
        tables.cases[name] = generator.integers(0, 2, len(tables.cases))
    found = importance(*tables, [*names, "intra_op_threads"])
    assert len(found.factors) == MAX_FACTORS
    assert found.factors[0].name == "intra_op_threads"
    assert len(found.left_out) == 51 - MAX_FACTORS
    assert f"and {51 - MAX_FACTORS - 5} more" in sentences(found)[-1]


def test_an_axis_of_very_many_values_is_binned_or_left_out_and_that_is_said(matrix: Matrix) -> None:
    tables = matrix(noisy(lambda batch_size: 1.01**batch_size), batch_size=list(range(1, 101)))
    tables.cases["param_text"] = [f"v{number}" for number in range(100)]
    found = importance(*tables, ["batch_size", "param_text"])
    assert [each.name for each in found.factors] == ["batch_size (100 values in 8 bins)"]
    assert found.factors[0].is_significant
    assert found.left_out == (("param_text", "100 values that are not numbers, more than 16"),)


def test_times_are_those_of_an_item_where_steps_have_items(matrix: Matrix) -> None:
    tables = matrix(noisy(lambda batch_size: float(batch_size)), batch_size=[1, 2, 4])
    assert importance(*tables, ["batch_size"]).factors[0].is_significant
    for table in tables:
        table["items_per_step"] = table["batch_size"].astype("Int64")
    assert not importance(*tables, ["batch_size"]).factors[0].is_significant


def test_other_work_is_no_part_of_the_variation(matrix: Matrix) -> None:
    seconds = noisy(lambda model, intra_op_threads: {"mlp": 1.0, "vgg16": 100.0}[model] / intra_op_threads)
    found = importance(*matrix(seconds, model=["mlp", "vgg16"], intra_op_threads=[1, 2]), ["model", "intra_op_threads"])
    (threads,) = found.factors
    assert threads.share > 0.7, "of equal work, nothing else varies"
    assert (threads.effects[0].pairs, threads.effects[0].better) == (2, 2)
    assert found.changes_work == ("model",)


def test_what_differs_between_kinds_of_work_is_no_part_of_an_effect_within_them(matrix: Matrix) -> None:
    """The threads tell the model: of mlp they are 1 and 2, of lstm 4 and 8; and so does what goes with the model."""
    threads = {"mlp": (1, 2), "lstm": (4, 8)}
    measured = noisy(lambda model, intra_op_threads, batch_size: 1 / intra_op_threads)
    tables = matrix(
        lambda model, **point: measured(model=model, **point) if point["intra_op_threads"] in threads[model] else None,
        model=list(threads),
        intra_op_threads=[1, 2, 4, 8],
        batch_size=[1, 8],
    )
    for table in tables:
        table["framework"] = table["model"].map({"mlp": "pytorch", "lstm": "jax"})
        table["cpus_per_task"] = table["intra_op_threads"] % 3  # 1 and 2 of both
    found = importance(*tables, ["model", "framework", *THREADS, "cpus_per_task"])
    assert [each.name for each in found.factors if each.is_significant] == ["intra_op_threads (with cpus_per_task)"]
    assert found.changes_work == ("model (with framework)",)


@pytest.mark.parametrize(
    ("axes", "times", "reason"),
    [
        ({"intra_op_threads": [1]}, [1.0, 2.0], "fewer than two cases"),
        ({"intra_op_threads": [1, 2, 3]}, [1.0], "too few runs to estimate the noise: 3 of 3 cases"),
        ({"intra_op_threads": [1, 2, 3]}, [1.0, 2.0], "too few runs to estimate the noise: 6 of 3 cases"),
        ({"batch_size": [1, 2, 3]}, [1.0, 2.0, 3.0], "all cases have the same parameters"),
        ({"model": ["lstm", "mlp"]}, [1.0, 2.0, 3.0], "each workload has one case"),
    ],
)
def test_where_nothing_can_be_said_the_reason_is(matrix: Matrix, axes: Any, times: list[float], reason: str) -> None:
    found = importance(
        *matrix(lambda **point: times, **axes), ["intra_op_threads"] if "batch_size" not in axes else ["model"]
    )
    assert found.reason is not None
    assert reason in found.reason
    assert (found.factors, found.interaction) == ((), None)


def test_failed_cases_and_times_of_nothing_do_no_harm(matrix: Matrix) -> None:
    tables = matrix(
        noisy(lambda **point: 0.0 if point["batch_size"] == 8 else 1.0), intra_op_threads=[1, 2], batch_size=[1, 4, 8]
    )
    failed = tables.repetitions["case"] == "case-0"
    tables.repetitions.loc[failed, ["status", "error"]] = ["failed", "it broke"]
    tables.cases.loc[tables.cases["case"] == "case-0", "time_median_s"] = None
    found = importance(*tables, THREADS)
    assert (found.cases, found.repetitions) == (5, 25)
    assert found.factors[0].name == "batch_size"


def test_ties_are_no_certainty(matrix: Matrix) -> None:
    """Three ticks of a coarse clock against four, three times each: it could be chance."""
    tables = matrix(lambda intra_op_threads: [float(intra_op_threads)] * 3, intra_op_threads=[3, 4])
    found = importance(*tables, ["intra_op_threads"])
    assert found.noise == 0
    assert not found.factors[0].is_significant


def test_too_few_repetitions_are_not_called_noise(matrix: Matrix) -> None:
    """Of 2 and 2 runs, 2 of 6 orders separate the two cases of each of two workloads: 2 of 36, without any effect."""
    axes = {"intra_op_threads": [1, 2], "batch_size": [1, 8]}
    few = "Too few runs to distinguish an effect from noise in the throughput: intra_op_threads."
    for repetitions, enough in ((2, False), (3, True)):
        runs = {1: [1.0] * repetitions, 2: [2.0] * repetitions}
        tables = matrix(lambda runs=runs, **point: runs[point["intra_op_threads"]], **axes)
        found = importance(*tables, ["intra_op_threads"])
        assert [share.enough_repetitions for share in found.factors] == [enough]
        assert (few in sentences(found)) is not enough


def test_runs_are_enough_if_the_smallest_p_value_is_just_significant(matrix: Matrix) -> None:
    """Of 3, 1 and 1 runs, and of 3 and 3 runs, 2 of 400 orders separate the levels: 0.01 for two factors."""
    runs = {"mlp": {1: 3, 2: 1, 4: 1}, "vgg16": {2: 3, 4: 3}}
    tables = matrix(
        lambda model, intra_op_threads: [1.0] * runs[model].get(intra_op_threads, 0) or None,
        model=list(runs),
        intra_op_threads=[1, 2, 4],
    )
    found = importance(*tables, ["intra_op_threads", "model"])
    assert found.changes_work == ("model",)
    assert [share.enough_repetitions for share in found.factors] == [True]


def test_sentences_tell_shares_ratios_and_noise(matrix: Matrix) -> None:
    axes = {"intra_op_threads": [1, 2], "batch_size": list(range(1, 13)), "inter_op_threads": [1, 2]}
    tables = matrix(noisy(lambda **p: p["batch_size"] ** 0.1 / (1 + 0.34 * (p["intra_op_threads"] - 1))), **axes)
    told = sentences(importance(*tables, list(axes)))
    assert told[0].startswith("intra_op_threads explains ")
    assert "2 instead of 1 is 1.34x [1.3" in told[0]
    assert told[0].endswith("] faster (median of 24 pairs).")
    assert told[1].startswith("batch_size explains ")
    assert "Possibly only noise in the throughput: inter_op_threads." in told
    assert told[-1].startswith("Noise between runs is ")


def test_what_is_told_does_not_depend_on_the_order_of_rows_or_names(matrix: Matrix) -> None:
    tables = matrix(by_hand, intra_op_threads=[1, 2], batch_size=[1, 8])
    shuffled = [table.sample(frac=1, random_state=1).reset_index(drop=True) for table in tables]
    assert sentences(importance(*shuffled, THREADS[::-1])) == sentences(importance(*tables, THREADS))
    assert isinstance(tables.cases, pd.DataFrame)
