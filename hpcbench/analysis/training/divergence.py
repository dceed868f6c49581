"""The divergence of two trainings from equal weights and batches (Ben-Nun et al., 2019, "A modular benchmarking
infrastructure for high-performance and reproducible deep learning", IPDPS, level 2).

The relative L2 norm is that of the difference of all weights over that of the first training's weights. If the files
have samples of the weights, it is an estimate, and the largest difference is a lower bound.

In each step, both trainings round each weight to float32, by at most u = 2^-24 of it (Higham, 2002, "Accuracy and
Stability of Numerical Algorithms", chapter 2). Equal updates therefore leave a relative L2 norm below 2 k u after k
steps. A larger one means that the updates differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.core.frameworks import SETTING_NAMES
from hpcbench.core.training.trajectory import Trajectory

UNIT = 2.0**-24  # of float32
MOST_PAIRS = 200
# Columns in which compared cases may differ: they do not change the training in exact arithmetic.
FREE = frozenset(
    {
        *("framework", "framework_version", "environment", "execution", "strategy", "device", "validate"),
        *("nodes", "tasks_per_node", "cpus_per_task", "gpus_per_task", "launch", "oversubscribe", "page_cache"),
        *SETTING_NAMES,
    }
)
Key = tuple[str, str]  # sweep and case


@dataclass(frozen=True)
class Recorded:
    """The trajectory of one run."""

    sweep: str
    case: str
    run: int
    trajectory: Trajectory


Pair = tuple[Recorded, Recorded]


@dataclass(frozen=True)
class Divergence:
    """Two trajectories, and their differences after the recorded steps; `reason` is why they were not compared."""

    first: Recorded
    second: Recorded
    reason: str = ""
    steps: Sequence[int] = ()
    relative_l2: Sequence[float] = ()  # not a number if weights are not finite
    largest: Sequence[float] = ()
    losses: Sequence[float | None] = ()  # absolute differences of the loss of each step

    @property
    def is_sampled(self) -> bool:
        """Return whether the norms are of a sample of the weights."""
        trajectory = self.first.trajectory
        return trajectory.stored != trajectory.weights

    @property
    def first_above_rounding(self) -> int | None:
        """Return the first recorded step after which rounding weights does not explain their difference; None if it
        always does."""
        pairs = zip(self.steps, self.relative_l2, strict=True)
        return next((step for step, norm in pairs if not norm <= 2 * step * UNIT), None)


class Pairs(NamedTuple):
    """The pairs of trajectories to compare, at most MOST_PAIRS, and the number of all pairs."""

    compared: Sequence[Pair]
    total: int


def pairs_of(cases: pd.DataFrame, recorded: Mapping[Key, Sequence[Recorded]], identifying: Sequence[str]) -> Pairs:
    """Return the pairs to compare: cases that differ only in columns of FREE, then two runs of each case.

    `identifying` are the columns that identify cases. If there are too many pairs, up to half of them are two runs of a
    case, since other pairs are judged by these.
    """
    names = [name for name in identifying if name in cases and name not in FREE]
    alike: dict[tuple[str, ...], list[Recorded]] = {}
    repeated = []
    for case in cases.to_dict("records"):
        runs = recorded.get((case["sweep"], case["case"]), ())
        repeated += [(runs[0], other) for other in runs[1:]]
        if runs:
            alike.setdefault(tuple(str(case[name]) for name in names), []).append(runs[0])
    total = len(repeated) + sum(math.comb(len(found), 2) for found in alike.values())
    kept = repeated if total <= MOST_PAIRS else repeated[: MOST_PAIRS // 2]
    others = chain.from_iterable(combinations(found, 2) for found in alike.values())
    return Pairs([*islice(others, MOST_PAIRS - len(kept)), *kept], total)


def divergence(first: Recorded, second: Recorded, one: NDArray[np.float32], other: NDArray[np.float32]) -> Divergence:
    """Return the divergence of two trajectories, given their weights, (recorded steps, stored weights)."""
    if reason := _why_not(first.trajectory, second.trajectory, one, other):
        return Divergence(first, second, reason)
    norms, largest = [], []
    steps = [step for step in first.trajectory.steps if step in second.trajectory.steps]
    for step in steps:
        weights, others = (
            weights[list(each.trajectory.steps).index(step)].astype(np.float64)
            for each, weights in ((first, one), (second, other))
        )
        difference = weights - others
        norms.append(_ratio(float(np.linalg.norm(difference)), float(np.linalg.norm(weights))))
        largest.append(float(np.abs(difference).max(initial=0.0)))
    losses = [
        None if a is None or b is None else abs(a - b)
        for a, b in zip(first.trajectory.losses, second.trajectory.losses, strict=False)
    ]
    return Divergence(first, second, "", steps, norms, largest, losses)


def _why_not(first: Trajectory, second: Trajectory, one: NDArray[np.float32], other: NDArray[np.float32]) -> str:
    if first.order != second.order:
        return "their weights have different orders"
    if one.shape[1:] != other.shape[1:] or first.weights != second.weights:
        return "they have different numbers of weights"
    return "" if np.array_equal(one[0], other[0]) else "their initial weights differ"


def _ratio(norm: float, size: float) -> float:
    """Return a norm over another; 0 if both are 0."""
    return norm / size if size else 0.0 if norm == 0 else np.inf
