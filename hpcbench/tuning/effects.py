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
from scipy.special import stdtrit

_HUBER = 1.345  # of standard deviations: 95 % efficient where the noise is normal
_ROUNDS = 20
_NORMAL = 1.4826  # the standard deviation of normal noise over its median absolute deviation
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
    settings = sorted({each.setting for each in measured})
    blocks = sorted({each.block for each in measured})
    rows = np.arange(len(measured))
    design = np.zeros((len(measured), len(settings) + len(blocks)))
    design[rows, [settings.index(each.setting) for each in measured]] = 1
    design[rows, [len(settings) + blocks.index(each.block) for each in measured]] = 1
    values = np.array([each.log_cost for each in measured])
    # Blocks are drawn to zero a little, so that of two that share no setting each keeps its own level.
    penalty = np.diag([*[0.0] * len(settings), *[_RIDGE] * len(blocks)])
    freedom = max(0, len(measured) - int(np.linalg.matrix_rank(design)))
    weights = np.ones(len(measured))
    solution, scale = np.zeros(design.shape[1]), 0.0
    for _ in range(_ROUNDS):
        weighted = design * weights[:, None]
        solution = np.linalg.lstsq(design.T @ weighted + penalty, weighted.T @ values, rcond=None)[0]
        residuals = values - design @ solution
        if freedom < 1:
            break
        # Some are zero by construction, which the number of free ones makes up for.
        scale = _NORMAL * float(np.median(np.sort(np.abs(residuals))[-freedom:]))
        if scale <= 0:
            break
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residuals), 1e-300))
    counts = {setting: sum(each.setting == setting for each in measured) for setting in settings}
    costs = dict(zip(settings, solution[: len(settings)].tolist(), strict=True))
    return Effects(costs, counts, scale, freedom)
