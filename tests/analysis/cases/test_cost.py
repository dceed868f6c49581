"""Money, energy and emissions of cases, by hand-computed numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.analysis.cases.cost import add_costs, incomparable
from hpcbench.analysis.stats.intervals import interval_of_values

Rep = Callable[..., dict[str, Any]]
Table = Callable[..., pd.DataFrame]
PAID = {"currency": "EUR", "price_per_hour": 7.2, "price_reason": None}
METERED = {
    "energy_measured_j": 96.0,
    "energy_measured_j_per_item": 0.5,
    "energy_scope": "cpu+memory",
    "co2e_g_per_kwh": 450.0,
}
RUN = {"framework": "command", "items_per_step": None}


@pytest.fixture
def costs(table: Table) -> Callable[..., pd.DataFrame]:
    """The cases of these runs, with what they cost."""

    def make(*rows: dict[str, Any]) -> pd.DataFrame:
        repetitions = table(*rows)
        return add_costs(case_table(repetitions), repetitions)

    return make


def with_limits(case: pd.Series[Any], name: str) -> list[float]:
    return list(case[[name, f"{name}_ci_low", f"{name}_ci_high"]].astype(float))


def test_money_is_time_and_so_is_its_interval(repetition: Rep, costs: Callable[..., pd.DataFrame]) -> None:
    """0.002 EUR for each second; steps of 32 items."""
    case = costs(*(repetition(0, number, [time], **PAID) for number, time in enumerate((0.15, 0.16, 0.18)))).iloc[0]
    million = 0.002 / 32 * 1e6
    times = [case["time_median_s"], case["time_ci_low_s"], case["time_ci_high_s"]]
    assert case["price_per_million_items"] == pytest.approx(10.0)
    assert with_limits(case, "price_per_million_items") == pytest.approx([million * time for time in times])
    assert case[["price_per_epoch", "price_per_run"]].isna().all()


def test_a_million_items_take_the_energy_of_an_item_a_million_times(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    """However many are in a step; of a run without items there are no million."""
    stepped, whole = (
        costs(repetition(0, 0, [0.16], **METERED, **changes)).iloc[0] for changes in ({"items_per_step": 3}, RUN)
    )
    assert stepped["energy_kwh_per_million_items"] == 0.5 / 3.6e6 * 1e6
    assert pd.isna(stepped["energy_kwh_per_run"])
    assert pd.isna(whole["energy_kwh_per_million_items"])


def test_an_epoch_costs_what_its_items_do(repetition: Rep, costs: Callable[..., pd.DataFrame]) -> None:
    case = costs(repetition(0, 0, [0.16, 0.16], items_per_epoch=50_000, **PAID)).iloc[0]
    assert with_limits(case, "price_per_epoch") == pytest.approx([0.5, 0.5, 0.5])


def test_a_training_to_an_accuracy_costs_by_the_run_and_by_its_epochs(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    learning = {"task": "time_to_accuracy", "items_per_step": None, "accuracy": 0.9, **PAID}
    runs = [(100.0, 10), (120.0, 10), (90.0, 10)]
    case = costs(*(repetition(0, n, [time], epochs=epochs, **learning) for n, (time, epochs) in enumerate(runs))).iloc[
        0
    ]
    assert case["price_per_run"] == pytest.approx(0.2)
    assert with_limits(case, "price_per_epoch") == pytest.approx(interval_of_values([0.02, 0.024, 0.018]))
    assert pd.isna(case["price_per_million_items"])


def test_without_a_price_there_is_a_reason(repetition: Rep, costs: Callable[..., pd.DataFrame]) -> None:
    unknown = {"currency": "EUR", "price_reason": "the job uses GPUs, and cost.gpu_hour is not set"}
    priced, unpriced = costs(repetition(0, **PAID), repetition(1, **unknown)).to_dict("records")
    assert pd.isna(unpriced["price_per_million_items"])
    assert pd.isna(priced["price_reason"])
    assert unpriced["price_reason"] == unknown["price_reason"]


def test_energy_and_emissions_are_those_of_an_item_over_the_repetitions(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    """3.6 MJ are one kWh: 0.72 J per item are 0.2 kWh a million."""
    joules = (0.72, 0.9, 0.54)
    rows = (repetition(0, n, **{**METERED, "energy_measured_j_per_item": each}) for n, each in enumerate(joules))
    case = costs(*rows).iloc[0]
    limits = interval_of_values([0.2, 0.25, 0.15])
    assert with_limits(case, "energy_kwh_per_million_items") == pytest.approx(limits)
    assert with_limits(case, "co2e_g_per_million_items") == pytest.approx([450 * each for each in limits])
    assert case[["energy_kwh_per_run", "co2e_g_per_run"]].isna().all()


def test_the_energy_delay_product_is_made_of_each_repetition(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    """Gonzalez and Horowitz, 1996: energy of an operation times its delay, here 0.5 J and 0.32 s / 32 items."""
    case = costs(repetition(0, 0, [0.32, np.inf, 0.32], **METERED)).iloc[0]
    assert case["energy_delay_j_s_per_item2"] == pytest.approx(0.005)
    assert case[["energy_delay_j_s_per_item2_ci_low", "energy_delay_j_s_per_item2_ci_high"]].isna().all()
    slow_saver = {**METERED, "energy_measured_j_per_item": 0.4}
    rows = (repetition(0, 0, [0.32], **METERED), repetition(0, 1, [0.8], **slow_saver))
    assert costs(*rows).iloc[0]["energy_delay_j_s_per_item2"] == pytest.approx((0.005 + 0.01) / 2)


def test_a_command_has_the_energy_and_the_price_of_a_run(repetition: Rep, costs: Callable[..., pd.DataFrame]) -> None:
    whole = {**METERED, "energy_measured_j": 36_000.0, "energy_measured_j_per_item": None}
    case = costs(repetition(0, 0, [50.0], **RUN, **PAID, **whole)).iloc[0]
    found = case[["price_per_run", "energy_kwh_per_run", "co2e_g_per_run"]]
    assert list(found) == pytest.approx([0.1, 0.01, 4.5])
    unknown = ["price_per_million_items", "energy_kwh_per_million_items", "energy_delay_j_s_per_item2"]
    assert case[unknown].isna().all()


def test_only_the_repetitions_that_speak_for_a_case_are_in_its_energy(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    odd = {**METERED, "energy_measured_j_per_item": 99.0}
    rows = [
        repetition(0, 0, **METERED),
        repetition(0, 1, interference="interference", interference_causes="cpu", **odd),
    ]
    rows += [repetition(0, 2, status="failed", **odd), repetition(0, 3)]
    assert costs(*rows).iloc[0]["energy_kwh_per_million_items"] == pytest.approx(0.5 / 3.6)


def test_repetitions_that_were_metered_otherwise_make_no_energy(
    repetition: Rep, costs: Callable[..., pd.DataFrame]
) -> None:
    case = costs(repetition(0, 0, **METERED), repetition(0, 1, **{**METERED, "energy_scope": "cpu"})).iloc[0]
    assert case["energy_scope"] == "cpu+memory; cpu"
    assert case[["energy_kwh_per_million_items", "energy_delay_j_s_per_item2"]].isna().all()


@pytest.mark.parametrize(
    ("changes", "column", "words"),
    [
        ({"currency": "USD"}, "price_per_million_items", "prices are in EUR and USD"),
        ({"energy_scope": "cpu+memory+gpu"}, "energy_kwh_per_million_items", None),
        ({"energy_scope": "gpu"}, "energy_kwh_per_million_items", "energy is of other components of the nodes"),
        ({"currency": "USD"}, "energy_kwh_per_million_items", None),
    ],
)
def test_what_is_not_in_one_measure_is_not_ranked(
    repetition: Rep, costs: Callable[..., pd.DataFrame], changes: dict[str, Any], column: str, words: str | None
) -> None:
    cases = costs(repetition(0, **PAID, **METERED), repetition(1, **{**PAID, **METERED, **changes}))
    assert (incomparable(cases, column) or "").startswith(words or "")
    assert (words is None) == (incomparable(cases, column) is None)


def test_a_ranking_of_nothing_says_why(repetition: Rep, costs: Callable[..., pd.DataFrame]) -> None:
    reason = incomparable(costs(repetition(0)), "price_per_million_items")
    assert reason == "no case has a value (the site file has no prices)"
    assert incomparable(costs(repetition(0)), "energy_kwh_per_million_items") == "no case has a value"
