"""Laws of scaling: the parameters that they were made with, and those of the literature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.analysis.studies.scaling_laws import AMDAHL, GUSTAFSON, USL, fit, peak

P = np.array([1.0, 2, 4, 8, 16, 32])
# Two examples of Gunther (2007), "Guerrilla Capacity Planning", that the R package usl has as data: raytracer and
# specsdm91: a ray tracer by its processors, and SPEC SDM91 by its users, whose peak the package puts at 96.5.
RAYS = np.array([[1, 20], [4, 78], [8, 130], [12, 170], [16, 190], [20, 200], [24, 210], [28, 230], [32, 260]])
RAYS = np.vstack([RAYS, [[48, 280], [64, 310]]]).astype(np.float64)
SDM91 = np.array([[1, 64.9], [18, 995.9], [36, 1652.4], [72, 1853.2], [108, 1828.9], [144, 1775.0], [216, 1702.2]])


@given(st.floats(0.0, 1.0), st.floats(1e-6, 1e6))
def test_amdahls_serial_fraction_is_found(fraction: float, rate: float) -> None:
    found = fit(AMDAHL, P, rate / (fraction + (1 - fraction) / P), None)
    assert found is not None
    assert found.parameters["serial_fraction"].estimate == pytest.approx(fraction, abs=1e-9)
    assert found.error < 1e-9


def test_amdahls_speedup_is_that_of_the_textbook() -> None:
    """5 % serial: 10.26 on 20 processors, and never more than 20."""
    found = fit(AMDAHL, P, 1 / (0.05 + 0.95 / P), None)
    assert found is not None
    assert found.curve(np.array([20.0, 1e9]))[:, 0] == pytest.approx([10.256, 20], rel=1e-3)


@given(st.floats(0.0, 1.0), st.floats(1e-6, 1e6))
def test_gustafsons_serial_part_is_found(fraction: float, rate: float) -> None:
    found = fit(GUSTAFSON, P, rate * (fraction + (1 - fraction) * P), None)
    assert found is not None
    assert found.parameters["serial_fraction"].estimate == pytest.approx(fraction, abs=1e-9)


def test_gustafsons_speedups_on_1024_processors() -> None:
    """Serial parts of 0.4 to 0.8 % scale to 1016 to 1020 (Gustafson, 1988, "Reevaluating Amdahl's law", CACM 31)."""
    for fraction, speedup in ((0.004, 1020), (0.008, 1016)):
        found = fit(GUSTAFSON, P, fraction + (1 - fraction) * P, None)
        assert found is not None
        assert round(found.curve(np.array([1024.0]))[0, 0]) == speedup


@given(st.floats(0.0, 0.9), st.floats(0.0, 0.1), st.floats(1e-3, 1e3))
def test_contention_and_coherency_are_found(contention: float, coherency: float, rate: float) -> None:
    found = fit(USL, P, rate * P / (1 + contention * (P - 1) + coherency * P * (P - 1)), None)
    assert found is not None
    assert found.parameters["contention"].estimate == pytest.approx(contention, abs=1e-8)
    assert found.parameters["coherency"].estimate == pytest.approx(coherency, abs=1e-8)


def test_the_ray_tracer_of_gunther() -> None:
    """He has a contention of 5 % and next to no coherency, by least squares of another form."""
    found = fit(USL, RAYS[:, 0], RAYS[:, 1], None)
    assert found is not None
    assert found.parameters["contention"].estimate == pytest.approx(0.05, abs=0.01)
    assert found.parameters["coherency"].estimate < 1e-5
    assert found.interval(peak).estimate > 400


def test_the_peak_of_sdm91() -> None:
    found = fit(USL, SDM91[:, 0], SDM91[:, 1], None)
    assert found is not None
    assert found.interval(peak).estimate == pytest.approx(96.5, rel=0.05)


def test_without_coherency_there_is_no_peak() -> None:
    assert math.isinf(peak(0.1, 0.0))
    assert peak(0.19, 0.01) == pytest.approx(9)
    assert peak(1.5, 0.01) == 0


def test_a_law_wants_enough_different_numbers_of_processors() -> None:
    few, rates = np.array([1.0, 2, 2, 2]), np.array([1.0, 2, 2, 2])
    assert [fit(law, few, rates, None) for law in (AMDAHL, GUSTAFSON, USL)] == [None, None, None]
    assert fit(USL, P[:3], P[:3], None) is None
    assert fit(AMDAHL, P[:3], P[:3], None) is not None


def test_parts_are_never_negative_so_that_superlinear_rates_have_no_contention() -> None:
    found = fit(USL, P, P**1.2, None)
    assert found is not None
    assert found.parameters["contention"].estimate == 0
    assert found.parameters["coherency"].estimate == 0


def test_the_interval_of_a_parameter_holds_it_as_often_as_it_says() -> None:
    generator = np.random.default_rng(3)
    hits, trials = 0, 100
    for _ in range(trials):
        rates = P / (1 + 0.05 * (P - 1)) * generator.lognormal(0, 0.02, P.size)
        found = fit(AMDAHL, P, rates, rates * generator.lognormal(0, 0.02, (300, P.size)))
        assert found is not None
        low, high = found.parameters["serial_fraction"][1:]
        assert low is not None
        assert high is not None
        hits += low <= 0.05 <= high
    assert 0.88 <= hits / trials <= 1


def test_an_infinite_rate_has_no_law_and_infinite_replicates_are_left_out() -> None:
    """The rate of a measured time of 0 s is infinite."""
    rates = 1 / (0.05 + 0.95 / P)
    infinite = rates.copy()
    infinite[2] = np.inf
    assert fit(AMDAHL, P, infinite, None) is None
    found = fit(AMDAHL, P, rates, np.array([infinite, rates, rates]))
    assert found is not None
    assert found.plausible is not None
    assert len(found.plausible) == 2
    none_left = fit(AMDAHL, P, rates, np.array([infinite]))
    assert none_left is not None
    assert none_left.plausible is None
