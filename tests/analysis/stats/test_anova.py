"""Sums of squares against a textbook, against hand, and against plain least squares where cases are missing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from hpcbench.analysis.stats.anova import Sum, case_means, explained, f_test
from hpcbench.analysis.stats.factor_levels import crossed

# Montgomery, "Design and Analysis of Experiments", table 5.1: life of a battery in hours, by material and temperature.
BATTERIES = [
    *([130, 155, 74, 180], [34, 40, 80, 75], [20, 70, 82, 58]),
    *([150, 188, 159, 126], [136, 122, 106, 115], [25, 70, 58, 45]),
    *([138, 110, 168, 160], [174, 120, 150, 139], [96, 104, 82, 60]),
]


def test_a_textbook_s_two_way_example() -> None:
    """Table 5.5 of the same book."""
    values = np.array(BATTERIES, dtype=float).ravel()
    data = case_means(values, np.repeat(np.arange(9), 4))
    material, temperature = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    both = explained(data, [material, temperature])
    by_material = both.beyond(explained(data, [temperature]))
    by_temperature = both.beyond(explained(data, [material]))
    interaction = explained(data, [crossed(material, temperature)]).beyond(both)
    sums = [by_material, by_temperature, interaction, data.noise]
    assert [each.squares for each in sums] == pytest.approx([10683.72, 39118.72, 9613.78, 18230.75], abs=0.01)
    assert [each.freedom for each in sums] == [2, 2, 4, 27]
    assert data.total == pytest.approx(77646.97, abs=0.01)
    assert by_material.mean / data.noise.mean == pytest.approx(7.91, abs=0.005)
    assert [f_test(each, data.noise) for each in sums[:3]] == pytest.approx([0.0020, 0.0000, 0.0186], abs=1e-4)


def test_one_factor_is_the_usual_test() -> None:
    groups = [[1.0, 3, 4, 8], [2, 5, 7, 9, 10], [6, 11, 12]]
    values, cases = np.concatenate(groups), np.repeat([0, 1, 2], [4, 5, 3])
    data = case_means(values, cases)
    found = explained(data, [np.arange(3)])
    assert f_test(found, data.noise) == pytest.approx(scipy.stats.f_oneway(*groups).pvalue)
    statistic = (values.size - 1) * found.squares / data.total
    assert statistic == pytest.approx(scipy.stats.kruskal(*groups).statistic)


def test_unbalanced_sums_are_those_of_least_squares() -> None:
    generator = np.random.default_rng(5)
    factors = [generator.integers(0, size, 40) for size in (2, 3, 4)]
    cases = np.repeat(np.arange(40), generator.integers(1, 5, 40))
    values = generator.normal(size=cases.size)
    data = case_means(values, cases)

    def residual(chosen: list[np.ndarray]) -> float:
        columns = [np.ones(values.size), *(codes[cases] == level for codes in chosen for level in set(codes))]
        matrix = np.column_stack(columns).astype(float)
        return float(((values - matrix @ np.linalg.lstsq(matrix, values, rcond=None)[0]) ** 2).sum())

    for place, codes in enumerate(factors):
        others = [each for each in factors if each is not codes]
        beyond = explained(data, factors).beyond(explained(data, others))
        assert beyond.squares == pytest.approx(residual(others) - residual(factors))
        assert beyond.freedom == place + 1


def test_what_factors_explain_within_blocks_is_what_they_explain_beyond_them() -> None:
    """With missing cases, a factor that varies within some of the blocks only, and one that does in none."""
    generator = np.random.default_rng(3)
    blocks = np.repeat(np.arange(6), 8)
    factors = [
        generator.integers(0, 3, 48),
        generator.integers(0, 4, 48),
        np.where(blocks < 4, blocks, np.arange(48) % 4),
    ]
    factors.append(blocks // 2)
    cases = np.repeat(np.arange(48), generator.integers(1, 4, 48))
    values = generator.normal(size=cases.size) + 100 * blocks[cases]
    within, plain = case_means(values, cases, blocks), case_means(values, cases)
    alone = explained(plain, [blocks])
    assert within.between == Sum(pytest.approx(plain.between.squares - alone.squares), 48 - 6)
    assert within.noise == Sum(pytest.approx(plain.noise.squares), plain.noise.freedom)
    for chosen in (factors, factors[:1], factors[1:], factors[2:], factors[3:]):
        beyond = explained(plain, [blocks, *chosen]).beyond(alone)
        assert explained(within, chosen) == Sum(pytest.approx(beyond.squares, abs=1e-6), beyond.freedom)


def test_confounded_factors_leave_no_degrees_of_freedom() -> None:
    one, other = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1])
    data = case_means(np.arange(12.0), np.repeat(np.arange(6), 2))
    both = explained(data, [one, other])
    assert explained(data, [one, other, one[::-1]]).beyond(both) == Sum(pytest.approx(0.0, abs=1e-9), 0)
    assert explained(data, []) == Sum(0.0, 0)


def test_no_effect_is_found_as_often_as_the_level_says() -> None:
    generator = np.random.default_rng(7)
    one, other = np.repeat([0, 1, 2], 4), np.tile([0, 1, 2, 3], 3)
    cases = np.repeat(np.arange(12), 3)
    alarms = 0
    for _ in range(1000):
        data = case_means(scipy.stats.rankdata(generator.lognormal(size=36)), cases)
        alarms += f_test(explained(data, [one, other]).beyond(explained(data, [other])), data.noise) <= 0.05
    assert 30 <= alarms <= 72  # 50, give or take three standard deviations


@pytest.mark.parametrize(
    ("effect", "noise", "chance"), [(Sum(5, 0), Sum(1, 4), 1), (Sum(0, 2), Sum(1, 4), 1), (Sum(1, 1), Sum(0, 4), 0)]
)
def test_the_ends_of_the_scale(effect: Sum, noise: Sum, chance: float) -> None:
    assert f_test(effect, noise) == chance
