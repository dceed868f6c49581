"""Factors of components: what a fit finds in times that are made of known ones."""

from __future__ import annotations

import numpy as np
import pytest

from hpcbench.predict.networks.images.mixture import Form, Mixture, fit_mixture, mixture_of

IS_HOST = np.array([False, False, True])


def _form(power: float) -> Form:
    return Form(IS_HOST, power, np.zeros(3), ridge=1e-9, drift=1e-9)


def test_a_time_is_the_power_mean_of_device_and_host() -> None:
    mixture = Mixture(np.log([1.0, 2.0, 1.0]), np.zeros((3, 1)))
    log_time, fractions = mixture.log_times(np.array([[1.0, 1.0, 4.0]]), np.zeros((1, 1)), _form(2.0))
    assert np.exp(log_time) == pytest.approx([5.0])  # 3 of the device and 4 of the host
    assert fractions[0] == pytest.approx([9 / 25 / 3, 9 / 25 * 2 / 3, 16 / 25])


def test_a_fit_finds_the_factors_and_the_effect_of_a_condition() -> None:
    draw = np.random.default_rng(0)
    seconds = np.exp(draw.normal(size=(400, 3)))
    condition = draw.integers(0, 2, size=(400, 1)).astype(float)
    true = Mixture(np.log([1.5, 3.0, 2.0]), np.array([[0.7], [0.0], [0.0]]))
    form = _form(1.0)
    log_time = true.log_times(seconds, condition, form)[0]
    found = fit_mixture(seconds, condition, log_time, np.ones(400), form)
    assert found.level == pytest.approx(true.level, abs=0.02)
    assert found.effects == pytest.approx(true.effects, abs=0.03)


def test_json_keeps_the_mixture() -> None:
    mixture = Mixture(np.array([0.1, 0.2, 0.3]), np.array([[1.0], [2.0], [3.0]]))
    read = mixture_of(mixture.to_json())
    assert read.level.tolist() == [0.1, 0.2, 0.3]
    assert read.effects.tolist() == [[1.0], [2.0], [3.0]]
