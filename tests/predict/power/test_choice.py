"""The best clock and the best power limit."""

import pandas as pd
import pytest

from hpcbench.predict.power.choice import best_clock, best_limit, regret

OVER_CLOCKS = pd.DataFrame(
    {"clock_mhz": [600.0, 900.0, 1400.0], "time_s": [2.0, 1.3, 1.0], "energy_j": [110.0, 100.0, 130.0]}
)


def test_the_clock_of_least_energy_and_the_fastest() -> None:
    assert best_clock(OVER_CLOCKS) == 900.0
    assert best_clock(OVER_CLOCKS, quantity="time_s") == 1400.0


def test_clocks_that_are_too_slow_do_not_count() -> None:
    assert best_clock(OVER_CLOCKS, slowest=1.2) == 1400.0


def test_rows_without_a_prediction_do_not_count() -> None:
    limits = OVER_CLOCKS.rename(columns={"clock_mhz": "power_limit_w"})
    limits.loc[1, "energy_j"] = float("nan")
    assert best_limit(limits) == 600.0
    with pytest.raises(ValueError, match="no prediction of energy_j for any power_limit_w"):
        best_limit(limits.assign(energy_j=float("nan")))


def test_regret_is_the_cost_of_the_choice_over_the_best() -> None:
    assert regret([110.0, 100.0, 130.0], [1.0, 2.0, 3.0]) == pytest.approx(0.10)
    assert regret([110.0, 100.0, 130.0], [3.0, 2.0, 2.5]) == 0.0
