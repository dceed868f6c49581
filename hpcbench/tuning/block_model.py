"""The cost of each configuration, from blocks of measurements: a temporarily slower machine slows a whole block.

The logarithm of a cost is modelled as that of its configuration, plus that of its block, plus noise: the two-way layout
of a randomized block design (Montgomery, "Design and Analysis of Experiments", chapter 4), with blocks that need not
contain all configurations. The fit is robust against single runs with interference: reweighted least squares with
Huber's weights (Huber, 1964, "Robust estimation of a location parameter", Annals of Mathematical Statistics 35).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hpcbench.analysis.stats.distributions import student_quantile

_Values = npt.NDArray[np.float64]
_Places = npt.NDArray[np.intp]

_HUBER = 1.345  # standard deviations: 95 % efficient with normal noise
_MEDIAN = 0.05  # nearly the median, which is robust against outliers
_BENDS = [_MEDIAN] * 20 + [_HUBER] * 20
_FEW = {4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
# Residuals are clipped at _FAR standard deviations; of normal noise, this fraction of the variance is left.
_FAR = 2.5
_WITHIN = 0.9776
_NORMAL = 1.4826  # the standard deviation of normal noise over its median absolute deviation
_ZERO = 1e-6
_RIDGE = 1e-9  # determines the level of a block that shares no configuration with the others


class Measured(NamedTuple):
    """One measurement: the natural logarithm of a configuration's cost in a block."""

    configuration: int
    block: int
    log_cost: float


@dataclass(frozen=True)
class Effects:
    """The fitted logarithms of costs (`costs`) and the numbers of measurements (`counts`) by configuration.

    `scale` is the standard deviation of a single measurement, with `freedom` degrees of freedom. It is unknown if no
    configuration was measured twice.
    """

    costs: Mapping[int, float]
    counts: Mapping[int, int]
    scale: float
    freedom: int

    def order(self) -> list[int]:
        """Return the configurations, the best first."""
        return sorted(self.costs, key=lambda configuration: (self.costs[configuration], configuration))

    def half_width(self, one: int, other: int, level: float) -> float:
        """Return the half width of the interval of a difference of logarithms; infinite if the noise is unknown."""
        if self.freedom < 1:
            return math.inf
        error = self.scale * math.sqrt(1 / self.counts[one] + 1 / self.counts[other])
        return student_quantile(self.freedom, (1 + level) / 2) * error

    def is_significantly_worse(self, one: int, other: int, level: float) -> bool:
        """Return whether `one` costs more than `other` at this confidence level (Student's t)."""
        return self.costs[one] - self.costs[other] > self.half_width(one, other, level)


def fit(measured: Sequence[Measured]) -> Effects:
    """Return the effects of the configurations. Raise ValueError without measurements."""
    if not measured:
        raise ValueError("effects need at least one measurement")
    configurations, of_configuration = np.unique([each.configuration for each in measured], return_inverse=True)
    blocks, of_block = np.unique([each.block for each in measured], return_inverse=True)
    values = np.array([each.log_cost for each in measured])
    layout = _Layout(of_configuration, of_block, len(configurations), len(blocks))
    freedom = max(0, len(measured) - layout.rank)
    weights = np.ones(len(measured))
    free = layout.free()
    costs, middle, scale = np.zeros(len(configurations)), 0.0, 0.0
    for bend in _BENDS:
        costs, levels = layout.solved(values, weights)
        residuals = values - costs[of_configuration] - levels[of_block]
        if freedom < 1:
            break
        noise = np.abs(residuals[free > 0]) / np.sqrt(free[free > 0])
        if bend == _MEDIAN:
            middle = _deviation(noise, freedom)
        within = _WITHIN if math.isfinite(middle) else 1.0
        scale = math.sqrt(float(np.average(np.minimum(noise, _FAR * middle) ** 2, weights=free[free > 0])) / within)
        if scale <= 0:
            break
        weights[free > 0] = np.minimum(1.0, bend * middle / np.maximum(noise, 1e-300))
    names = configurations.tolist()
    counts = dict(zip(names, np.bincount(of_configuration).tolist(), strict=True))
    return Effects(dict(zip(names, costs.tolist(), strict=True)), counts, scale, freedom)


def _deviation(noise: _Values, freedom: int) -> float:
    """Return the standard deviation by the median absolute residual, corrected for few values.

    The corrections are those of Croux and Rousseeuw, 1992, "Time-efficient algorithms for two highly robust
    estimators of scale", COMPSTAT. It is infinite for so few values that no outlier can be identified: then all count
    in full.
    """
    few = freedom + 1
    if few not in _FEW and few < max(_FEW):
        return math.inf
    correction = _FEW.get(few, few / (few - 0.8))
    return _NORMAL * correction * float(np.median(noise))


def _groups(meet: npt.NDArray[np.bool_]) -> int:
    """Return the number of connected groups of rows and columns, given which meet; each column meets a row."""
    groups, ungrouped = 0, np.ones(meet.shape[1], dtype=bool)
    while ungrouped.any():
        groups, inside = groups + 1, np.arange(len(ungrouped)) == ungrouped.argmax()
        while (reached := meet[meet[:, inside].any(axis=1)].any(axis=0)).sum() > inside.sum():
            inside = reached
        ungrouped &= ~inside
    return groups


class _Layout(NamedTuple):
    """The configuration and the block of each measurement, by index."""

    of_configuration: _Places
    of_block: _Places
    configurations: int
    blocks: int

    @property
    def rank(self) -> int:
        """Return the number of identifiable effects: one less for each connected group of blocks and configurations."""
        meet = np.zeros((self.configurations, self.blocks), dtype=bool)
        meet[self.of_configuration, self.of_block] = True
        return self.configurations + self.blocks - _groups(meet)

    def solved(self, values: _Values, weights: _Values) -> tuple[_Values, _Values]:
        """Return the effects of configurations and blocks by weighted least squares."""
        parts, of_configurations, left = self._without_configurations(weights)
        means = np.bincount(self.of_configuration, weights * values, self.configurations) / of_configurations
        right = np.bincount(self.of_block, weights * values, self.blocks) - parts.T @ (of_configurations * means)
        levels = np.asarray(np.linalg.solve(left, right), dtype=np.float64)
        return means - parts @ levels, levels

    def free(self) -> _Values:
        """Return 1 minus the leverage of each measurement: the variance of its residual over that of the noise.

        It is 0 if the residual is 0 by construction.
        """
        parts, of_configurations, left = self._without_configurations(np.ones(len(self.of_configuration)))
        apart = parts[self.of_configuration]
        apart[np.arange(len(apart)), self.of_block] -= 1
        leverage = 1 / of_configurations[self.of_configuration] + np.einsum(
            "ij,ij->i", apart @ np.linalg.inv(left), apart
        )
        free = 1 - leverage
        return np.where(free > _ZERO, free, 0.0)

    def _without_configurations(self, weights: _Values) -> tuple[_Values, _Values, _Values]:
        """Return the normal equations without configurations, of which there may be many (Schur's complement).

        They are the share of each block in each configuration, the weights of configurations, and the matrix of blocks.
        """
        shared = np.zeros((self.configurations, self.blocks))
        np.add.at(shared, (self.of_configuration, self.of_block), weights)
        of_configurations, of_blocks = shared.sum(axis=1), shared.sum(axis=0)
        parts = shared / of_configurations[:, None]
        # A slight shrinkage of blocks to zero, so that two that share no configuration each keep their own level.
        return parts, of_configurations, np.diag((1 + _RIDGE) * of_blocks) - shared.T @ parts
