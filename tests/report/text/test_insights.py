"""What makes the difference, in the order in which it is told, of made-up results."""

from __future__ import annotations

from itertools import product

from hpcbench.analysis.cases.quantities import SPEEDUP
from hpcbench.report.text.insights import MAX_SERIES, insights
from tests.report import made
from tests.report.made import repetitions_of
from tests.report.synthetic_results import METRIC, OF_COMMAND, case, results, threads

MODELS = ("lstm", "mlp", "vgg16")


def test_the_series_of_the_best_cases_come_first_with_their_laws() -> None:
    found = insights(results(*(threads(n, model=model) for model in MODELS for n in (1, 2, 4, 8))))
    scaling = [sentence for sentence in found if sentence.startswith("Strong scaling")]
    assert scaling == found[:MAX_SERIES]
    assert len({sentence.split(",")[0] for sentence in scaling}) == MAX_SERIES
    assert all("on 8 CPUs over 1" in sentence and "Amdahl's law" in sentence for sentence in scaling)
    assert found[MAX_SERIES].startswith("intra_op_threads explains")


def test_a_single_kind_of_work_needs_no_name() -> None:
    (sentence,) = insights(results(*(threads(n) for n in (1, 2, 4))))
    assert sentence.startswith("Strong scaling, 32 items per step: ")


def test_of_two_numbers_of_processors_the_answer_says_all() -> None:
    assert insights(results(*(threads(n) for n in (1, 2)))) == []


def test_nothing_is_said_where_nothing_was_measured() -> None:
    assert insights(results(*(threads(n, status="failed") for n in (1, 2, 4)))) == []


def test_factors_are_of_the_metric_that_ranks() -> None:
    """The time of each command is the same, and its rate doubles with the batch size, on one node and on two."""
    points = [{"batch_size": size, "nodes": nodes} for size in (1, 2, 4, 8) for nodes in (1, 2)]
    rates = [10.0 * point["batch_size"] * (1 + point["nodes"] / 100) for point in points]
    cases = [
        case(0.1, **{**OF_COMMAND, **point, METRIC.column: rate}) for point, rate in zip(points, rates, strict=True)
    ]
    told = insights(results(*cases, repetitions=4, spread=0.0, quantity=METRIC, metrics=[METRIC]))
    assert told[0].startswith("batch_size explains ")
    assert "of the variation of the rate: 8 instead of 1 is 8.00x" in told[0]
    assert "better (median of 2 pairs)" in told[0]


def test_workloads_without_the_given_base_count_in_the_factors_of_the_throughput() -> None:
    """Ranked by the speedup over a case of the first workload, which cases of the second have not."""
    points = product(("training", "inference"), (1, 2), (1, 2))
    cases = [
        repetitions_of(place, 0.8 / threads, task=task, nodes=nodes, intra_op_threads=threads)
        for place, (task, nodes, threads) in enumerate(points)
    ]
    told = insights(made.results(*cases, quantity=SPEEDUP, base=0))
    (effect,) = (text for text in told if text.startswith("intra_op_threads explains "))
    assert "of the variation of the throughput" in effect
    assert effect.endswith("(median of 4 pairs).")
