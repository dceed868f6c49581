"""What each setting costs, from measurements in blocks: a machine that is slower for a while slows all of a block.

The logarithm of a cost is taken to be that of its setting, plus that of its block, plus noise: the two-way layout of a
randomized block design (Montgomery, "Design and Analysis of Experiments", chapter 4), with blocks that need not hold
all settings. It is fitted robustly, by reweighted least squares with Huber's weights (Huber, 1964, "Robust estimation
of a location parameter", Annals of Mathematical Statistics 35): one run that was disturbed must not decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtrit

_Values = npt.NDArray[np.float64]
_Places = npt.NDArray[np.intp]

_HUBER = 1.345  # of standard deviations: 95 % efficient where the noise is normal
_MEDIAN = 0.05  # nearly the median, which what is far off does not draw to itself: it tells how far that is
_BENDS = [_MEDIAN] * 20 + [_HUBER] * 20
_FEW = {4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
# What is farther off counts as so far for the standard deviation, which of normal noise leaves this part of its square.
_FAR = 2.5
_WITHIN = 0.9776
_NORMAL = 1.4826  # the standard deviation of normal noise over its median absolute deviation
_ZERO = 1e-6
_RIDGE = 1e-9  # decides what the measurements leave open: how a block without common settings compares


class Measured(NamedTuple):
    """One measurement: the natural logarithm of what a setting cost in a block."""

    setting: int
    block: int
    log_cost: float


@dataclass(frozen=True)
class Effects:
    """`costs` are the logarithms by setting, `counts` how often each was measured.

    `scale` is the standard deviation of a single measurement, with so many degrees of `freedom`; where no setting was
    measured twice, nothing is known of it.
    """

    costs: Mapping[int, float]
    counts: Mapping[int, int]
    scale: float
    freedom: int

    def order(self) -> list[int]:
        """The settings, the best first."""
        return sorted(self.costs, key=lambda setting: (self.costs[setting], setting))

    def half_width(self, one: int, other: int, level: float) -> float:
        """Of the interval of the difference of two settings' logarithms; infinite where the noise is not known."""
        if self.freedom < 1:
            return math.inf
        error = self.scale * math.sqrt(1 / self.counts[one] + 1 / self.counts[other])
        return float(stdtrit(self.freedom, (1 + level) / 2)) * error

    def is_surely_worse(self, one: int, other: int, level: float) -> bool:
        """Whether `one` costs more than `other`, and noise alone would not make it seem so."""
        return self.costs[one] - self.costs[other] > self.half_width(one, other, level)


def fit(measured: Sequence[Measured]) -> Effects:
    """The effects of the settings. Raises ValueError where nothing was measured."""
    if not measured:
        raise ValueError("effects need at least one measurement")
    settings, of_setting = np.unique([each.setting for each in measured], return_inverse=True)
    blocks, of_block = np.unique([each.block for each in measured], return_inverse=True)
    values = np.array([each.log_cost for each in measured])
    layout = _Layout(of_setting, of_block, len(settings), len(blocks))
    freedom = max(0, len(measured) - layout.rank)
    weights = np.ones(len(measured))
    free = layout.free()
    costs, middle, scale = np.zeros(len(settings)), 0.0, 0.0
    for bend in _BENDS:
        costs, levels = layout.solved(values, weights)
        residuals = values - costs[of_setting] - levels[of_block]
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
    names = settings.tolist()
    counts = dict(zip(names, np.bincount(of_setting).tolist(), strict=True))
    return Effects(dict(zip(names, costs.tolist(), strict=True)), counts, scale, freedom)


def _deviation(noise: _Values, freedom: int) -> float:
    """The standard deviation by the median of how far off they are, corrected for few (Croux and Rousseeuw, 1992,
    "Time-efficient algorithms for two highly robust estimators of scale", COMPSTAT); infinite for so few that nobody
    can say which is far off, so that all count in full."""
    few = freedom + 1
    if few not in _FEW and few < max(_FEW):
        return math.inf
    correction = _FEW.get(few, few / (few - 0.8))
    return _NORMAL * correction * float(np.median(noise))


class _Layout(NamedTuple):
    """Which measurement is of which setting and block, by their places."""

    of_setting: _Places
    of_block: _Places
    settings: int
    blocks: int

    @property
    def rank(self) -> int:
        """Effects that can be told apart: one less for each group of blocks that share settings, if through others."""
        nodes = self.settings + self.blocks
        edges = coo_array(
            (np.ones(len(self.of_setting)), (self.of_setting, self.settings + self.of_block)), (nodes, nodes)
        )
        return nodes - int(connected_components(edges, directed=False)[0])

    def solved(self, values: _Values, weights: _Values) -> tuple[_Values, _Values]:
        """The effects of settings and blocks by weighted least squares."""
        parts, of_settings, left = self._without_settings(weights)
        means = np.bincount(self.of_setting, weights * values, self.settings) / of_settings
        right = np.bincount(self.of_block, weights * values, self.blocks) - parts.T @ (of_settings * means)
        levels = np.asarray(np.linalg.solve(left, right), dtype=np.float64)
        return means - parts @ levels, levels

    def free(self) -> _Values:
        """The part of each measurement that the fit does not follow, one less its leverage: the variance of its
        residual over that of the noise. 0 where the residual is 0 by construction."""
        parts, of_settings, left = self._without_settings(np.ones(len(self.of_setting)))
        apart = parts[self.of_setting]
        apart[np.arange(len(apart)), self.of_block] -= 1
        leverage = 1 / of_settings[self.of_setting] + np.einsum("ij,ij->i", apart @ np.linalg.inv(left), apart)
        free = 1 - leverage
        return np.where(free > _ZERO, free, 0.0)

    def _without_settings(self, weights: _Values) -> tuple[_Values, _Values, _Values]:
        """The normal equations when settings are eliminated, of which there may be many (Schur's complement): the part
        that each block has in a setting, the weights of settings, and the matrix that is left for blocks."""
        shared = np.zeros((self.settings, self.blocks))
        np.add.at(shared, (self.of_setting, self.of_block), weights)
        of_settings, of_blocks = shared.sum(axis=1), shared.sum(axis=0)
        parts = shared / of_settings[:, None]
        # Blocks are drawn to zero a little, so that of two that share no setting each keeps its own level.
        return parts, of_settings, np.diag((1 + _RIDGE) * of_blocks) - shared.T @ parts
