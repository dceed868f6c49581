"""Voltage over clock."""

import numpy as np
import pytest

from hpcbench.predict.power.voltage import Voltage


def test_voltage_is_flat_up_to_the_knee_and_then_linear() -> None:
    curve = Voltage(knee=0.7, floor=0.8)
    assert curve.relative(np.array([0.3, 0.7, 0.85, 1.0])) == pytest.approx([0.8, 0.8, 0.9, 1.0])
