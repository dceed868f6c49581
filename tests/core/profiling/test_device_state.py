"""States of devices: what identifies them, and that rows of operators have them."""

from __future__ import annotations

import typing
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from hpcbench.core.profiling.device_state import OPERATOR, REQUESTED, STATE, DeviceState
from hpcbench.core.profiling.operator_row import OperatorRow

ROW = OperatorRow("relu", "aten.relu.default", "forward", "{}", requested_clock_mhz=900, clock_method="locked clocks")


def test_clock_and_power_limit_identify_a_state_and_the_method_does_not() -> None:
    state = DeviceState(900, clock_method="locked clocks")
    assert {state, replace(state, clock_method=None)} == {state}
    assert len({state, DeviceState(901), DeviceState(900, 250.0), DeviceState()}) == 4
    with pytest.raises(FrozenInstanceError):
        state.requested_clock_mhz = 901  # type: ignore[misc]


@pytest.mark.parametrize(
    ("state", "text"),
    [(DeviceState(900), "900 MHz"), (DeviceState(None, 250.5), "250.5 W"), (DeviceState(), "")],
)
def test_a_state_in_words(state: DeviceState, text: str) -> None:
    assert state.in_words() == text


def test_rows_have_the_fields_of_a_state_and_the_columns_that_identify_them() -> None:
    names = {field.name for field in fields(OperatorRow)}
    assert {*typing.get_type_hints(DeviceState), *STATE, *OPERATOR} <= names
    assert REQUESTED == ("requested_clock_mhz", "requested_power_limit_w")
    assert vars(ROW.state) == {
        "requested_clock_mhz": 900,
        "requested_power_limit_w": None,
        "clock_method": "locked clocks",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": "backward"},
        {"members": ["a"]},
        {"device": "gpu"},
        {"requested_clock_mhz": None},
        {"requested_power_limit_w": 250.0},
    ],
    ids=str,
)
def test_the_key_of_a_row_has_operator_and_state(changes: dict[str, typing.Any]) -> None:
    assert replace(ROW, hot_s=1.0, clock_method=None).key == ROW.key
    assert replace(ROW, **changes).key != ROW.key
    assert hash(replace(ROW, **changes).key)
