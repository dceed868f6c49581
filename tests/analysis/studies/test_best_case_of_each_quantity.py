"""Whatever cases are ranked by, the answer says how much better the best one is, with an interval."""

from __future__ import annotations

import dataclasses

import pytest

from hpcbench.analysis.cases.quantities import LATENCIES, PRICE, QUANTITIES, TIME, Quantity
from hpcbench.analysis.studies.best_case import best_cases
from tests.report.synthetic_results import results, threads

# By which the second case is twice as good: it takes half of the time, and half of everything else.
COSTS = {"currency": "EUR", "energy_scope": "cpu", "energy_measured_j": 12.0}
MEASURED = ({"energy_measured_j_per_item": 2.0}, {"energy_measured_j_per_item": 1.0})
OTHERS = (
    {"peak_memory_bytes": 2**31, "models_per_minute": 3.0, "accuracy": 0.4, "best_accuracy": 0.45},
    {"peak_memory_bytes": 2**30, "models_per_minute": 6.0, "accuracy": 0.8, "best_accuracy": 0.9},
)
CASES = [
    threads(1, time_s, price_per_hour=3.6, **COSTS, **joules, **others)
    for time_s, joules, others in zip((0.4, 0.2), MEASURED, OTHERS, strict=True)
]


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda quantity: quantity.column)
def test_the_gain_has_an_interval(quantity: Quantity) -> None:
    known = dataclasses.replace(quantity, unit="EUR") if quantity == PRICE else quantity  # as results_of does
    samples = 3000 if quantity == LATENCIES[-1] else 400
    cases = [{**case, "batch_size": size, "steps_per_measurement": 1} for size, case in enumerate(CASES, 1)]
    runs = {"repetitions": 6, "between": 0.0} if quantity in LATENCIES else {}
    (answer,) = best_cases(results(*cases, quantity=known, samples=samples, spread=0.005, **runs))
    assert (answer.best.name, answer.base.case.name) == ("batch_size=2", "batch_size=1")
    assert answer.gain.low is not None
    assert answer.gain.high is not None
    assert answer.gain.low <= answer.gain.estimate <= answer.gain.high
    assert answer.gain.estimate == pytest.approx(2, rel=0.05)
    assert answer.gain.low > 1.8


def test_where_three_runs_cannot_tell_how_long_the_tail_is_its_gain_has_no_interval() -> None:
    tail = next(each for each in LATENCIES if each.column == "time_p99_s")
    cases = [{**case, "batch_size": size, "steps_per_measurement": 1} for size, case in enumerate(CASES, 1)]
    (answer,) = best_cases(results(*cases, quantity=tail, samples=400, spread=0.005))
    assert answer.gain.estimate == pytest.approx(2, rel=0.05)
    assert answer.gain[1:] == (None, None)


def test_a_price_gains_what_the_time_gains_and_the_price_of_an_hour_takes() -> None:
    costs = ((3.6, 0.4), (5.4, 0.2))  # half of the time at half as much again for an hour
    cases = [
        threads(1, time_s, price_per_hour=price, batch_size=size, currency="EUR")
        for size, (price, time_s) in enumerate(costs, 1)
    ]
    by_time, by_price = (best_cases(results(*cases, spread=0.005, quantity=each))[0] for each in (TIME, PRICE))
    assert by_time.gain.low is not None
    assert by_price.gain.estimate == pytest.approx(by_time.gain.estimate / 1.5)
    assert by_price.gain.low == pytest.approx(by_time.gain.low / 1.5)
