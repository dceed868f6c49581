"""Lower clocks and power limits of made-up rows."""

import numpy as np

from hpcbench.predict.operators.states import at_lower_clock, at_lower_power_limit, lowered
from tests.predict.time.made_up import device, products

CARDS = {"card": device("card", board_power_w=300.0)}
ROWS = products(CARDS, 4)


def test_a_state_without_a_clock_or_limit_is_the_default() -> None:
    assert not lowered(ROWS, CARDS).any()


def test_lower_clocks_and_limits_are_lower_states() -> None:
    clocks = ROWS.assign(clock_mhz=[1400.0, 1399.0, 700.0, np.nan])
    limits = ROWS.assign(power_limit_w=[300.0, 299.0, 250.0, np.nan])
    assert at_lower_clock(clocks, CARDS).tolist() == [False, True, True, False]
    assert at_lower_power_limit(limits, CARDS).tolist() == [False, False, True, False]
    assert lowered(clocks, CARDS).tolist() == [False, True, True, False]
    assert lowered(limits, CARDS).tolist() == [False, False, True, False]


def test_a_card_with_a_lower_limit_than_its_description_is_in_its_default_state() -> None:
    limits = ROWS.assign(power_limit_w=[250.0, 250.0, 200.0, 250.0])
    assert at_lower_power_limit(limits, CARDS).all()
    assert lowered(limits, CARDS).tolist() == [False, False, True, False]
