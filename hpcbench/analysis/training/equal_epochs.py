"""Accuracy after equal epochs: trainings on several ranks compared with the same training on one rank.

A faster strategy may learn worse. So each arm, the cases that differ only in the seed, is compared with the arm of one
rank after the same number of epochs: the largest after which all runs of both arms continue, or that they all have
without reaching the target. A run ends when it reaches the target. In its last epoch, its accuracy is above the target
by this selection, and those of the others are not: a comparison there would favor the arm that is first.

The difference is paired over seeds, since equal seeds have equal initial weights and data (Student's t on the
differences). With a single seed, its CI is over the runs (Welch, 1947, "The generalization of 'Student's' problem when
several different population variances are involved"). It does not describe other seeds, and gives no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.distributions import student_quantile
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.core.frameworks import TIME_TO_ACCURACY

# Parameters in which an arm may differ from the arm of one rank.
ARM = (
    *("strategy", "averaging_period", "nodes", "tasks_per_node", "batch_size"),
    *("cpus_per_task", "gpus_per_task", "launch", "environment", "framework_version"),
)
_CONTEXT = ("environment", "cpus_per_task", "gpus_per_task", "launch")  # of equal arms of one rank, the closest
EQUAL_PER_RANK, EQUAL_GLOBAL = "per rank", "global"  # which batch size is that of the arm of one rank
MARGIN = 0.01  # accuracies that differ by less are regarded as equal
EQUAL, HIGHER, LOWER, INCONCLUSIVE = "equal", "higher", "lower", "inconclusive"
SEEDS, RUNS = "seeds", "runs"
DIFFERENCE = Quantity("difference", "difference", more_is_better=True)


@dataclass
class Arm:
    """The runs of the cases that differ only in the seed: the accuracy by epoch of each run, with its seed."""

    values: Mapping[str, Any]  # of the parameters ARM
    target: float
    cases: list[str] = field(default_factory=list)
    runs: list[tuple[Any, Mapping[int, float]]] = field(default_factory=list)

    @cached_property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return int(self.values["nodes"]) * int(self.values["tasks_per_node"])

    @property
    def batch(self) -> int:
        """Return the batch size of a rank."""
        return int(self.values["batch_size"])

    @property
    def last_epoch(self) -> int:
        """Return the last epoch before any run ended by reaching the target; 0 if one did so in the first epoch."""
        return min(max(curve) - (curve[max(curve)] >= self.target) for _, curve in self.runs)

    def by_seed(self, epoch: int) -> dict[Any, float]:
        """Return the median accuracy after an epoch over the runs of each seed."""
        seeds = dict.fromkeys(seed for seed, _ in self.runs)
        return {seed: median(curve[epoch] for own, curve in self.runs if own == seed) for seed in seeds}

    def epochs_to_target(self) -> tuple[float | None, int]:
        """Return the median number of epochs of the runs that reached the target, and how many runs missed it."""
        reached = [[epoch for epoch, value in curve.items() if value >= self.target] for _, curve in self.runs]
        first = [min(epochs) for epochs in reached if epochs]
        return (median(first) if first else None), len(reached) - len(first)


def equal_epochs(results: Results, identifying: Sequence[str]) -> pd.DataFrame:
    """Return a row per arm of several ranks and batch size that it shares with an arm of one rank of the same version
    of the framework, if both have an epoch before the first run ended.

    The cases of a comparison agree in the `identifying` columns other than ARM and the seed. A row has these columns,
    `sweep`, the columns of ARM, and the figures of both arms; those of the arm of one rank begin with `base_`.
    """
    names = [name for name in ("sweep", *identifying) if name in results.cases and name not in (*ARM, "seed", "task")]
    rows = []
    for key, arms in _comparisons(results, names).items():
        rows += [dict(zip(names, key[1], strict=True)) | row for row in _rows(arms)]
    return pd.DataFrame(rows)


def accuracy_by_epoch(results: Results, row: Mapping[Any, Any], cases: str) -> pd.Series[float]:
    """Return the mean accuracy by epoch of the `cases` (a column of a row), up to the epoch of the comparison."""
    frame = results.epochs
    own = frame[frame["sweep"].eq(row["sweep"]) & frame["case"].isin(row[cases]) & frame["epoch"].le(row["epoch"])]
    return own.groupby("epoch")["accuracy"].mean()


def _comparisons(results: Results, names: Sequence[str]) -> dict[tuple[Any, ...], list[Arm]]:
    """Return the arms by the values of the `names`, as text and unchanged."""
    cases = results.cases[results.cases["task"].eq(TIME_TO_ACCURACY)]
    if not len(cases) or not len(results.epochs):
        return {}
    curves: dict[tuple[str, str], dict[int, dict[int, float]]] = {}
    for row in results.epochs.to_dict("records"):
        run = curves.setdefault((row["sweep"], row["case"]), {}).setdefault(row["run"], {})
        run[row["epoch"]] = row["accuracy"]
    for own in curves.values():
        for number in [number for number, curve in own.items() if set(curve) != set(range(1, len(curve) + 1))]:
            del own[number]  # a damaged record lacks an epoch
    texts: dict[tuple[str, ...], tuple[Any, ...]] = {}
    found: dict[tuple[str, ...], dict[tuple[str, ...], Arm]] = {}
    for case in cases.sort_values("case_index").to_dict("records"):
        runs = curves.get((case["sweep"], case["case"]))
        if not runs:
            continue
        key = tuple(str(case[name]) for name in names)
        texts.setdefault(key, tuple(case[name] for name in names))
        values = {name: case.get(name) for name in ARM}
        arms = found.setdefault(key, {})
        arm = arms.setdefault(tuple(map(str, values.values())), Arm(values, float(case["target_accuracy"])))
        arm.cases.append(case["case"])
        arm.runs += [(str(case["seed"]), curve) for curve in runs.values()]
    return {(key, texts[key]): list(arms.values()) for key, arms in found.items()}


def _rows(arms: Sequence[Arm]) -> Iterator[dict[str, Any]]:
    alone = [arm for arm in arms if arm.ranks == 1]
    for arm in arms:
        for equal, batch in ((EQUAL_PER_RANK, arm.batch), (EQUAL_GLOBAL, arm.batch * arm.ranks)):
            base = _base(arm, [each for each in alone if each.batch == batch]) if arm.ranks > 1 else None
            epoch = min(arm.last_epoch, base.last_epoch) if base else 0
            if base and epoch:
                yield {**arm.values, "ranks": arm.ranks, "equal_batch": equal, "epoch": epoch} | _row(arm, base, epoch)


def _base(arm: Arm, alone: Sequence[Arm]) -> Arm | None:
    """Return the arm of one rank that agrees with an arm in most of _CONTEXT, preferably with the strategy `single`.

    Return None if no arm of one rank has the same version of the framework.
    """

    def agreement(base: Arm) -> tuple[int, bool]:
        agreed = sum(str(base.values[name]) == str(arm.values[name]) for name in _CONTEXT)
        return agreed, base.values["strategy"] == "single"

    version = str(arm.values["framework_version"])
    same = [base for base in alone if str(base.values["framework_version"]) == version]
    return max(same, key=agreement, default=None)


def _row(arm: Arm, base: Arm, epoch: int) -> dict[str, Any]:
    accuracy, base_accuracy, difference, basis, count = _compared(arm, base, epoch)
    reached, missed = arm.epochs_to_target()
    base_reached, base_missed = base.epochs_to_target()
    return {
        "cases": arm.cases,
        "base_cases": base.cases,
        "base_strategy": base.values["strategy"],
        "accuracy": accuracy,
        "base_accuracy": base_accuracy,
        **dict(zip((DIFFERENCE.column, *DIFFERENCE.limits), difference, strict=True)),
        "basis": basis,
        "n": count,
        "verdict": verdict(difference, basis),
        "epochs_to_target": reached,
        "base_epochs_to_target": base_reached,
        "missed": missed,
        "base_missed": base_missed,
    }


def verdict(difference: Interval, basis: str) -> str:
    """Return whether an accuracy is EQUAL within MARGIN, HIGHER or LOWER; INCONCLUSIVE if the CI decides nothing."""
    if basis == RUNS or difference.low is None or difference.high is None:
        return INCONCLUSIVE
    if max(-difference.low, difference.high) < MARGIN:
        return EQUAL
    return HIGHER if difference.low > 0 else LOWER if difference.high < 0 else INCONCLUSIVE


def _compared(arm: Arm, base: Arm, epoch: int) -> tuple[float, float, Interval, str, int]:
    """Return both accuracies, their difference with its CI, whether the values are of seeds or runs, and their number.

    Of two different numbers of runs, the smaller is returned.
    """
    one, other = arm.by_seed(epoch), base.by_seed(epoch)
    shared = [seed for seed in one if seed in other]
    if len(shared) > 1:
        pairs = np.array([(one[seed], other[seed]) for seed in shared])
        differences = pairs[:, 0] - pairs[:, 1]
        error = float(differences.std(ddof=1)) / math.sqrt(len(shared))
        means = pairs.mean(axis=0).tolist()
        return means[0], means[1], _interval(means[0] - means[1], error, len(shared) - 1), SEEDS, len(shared)
    values = [np.array([curve[epoch] for _, curve in each.runs]) for each in (arm, base)]
    first, second = (float(each.mean()) for each in values)
    count = min(each.size for each in values)
    if count < 2:
        return first, second, Interval(first - second, None, None), RUNS, count
    errors = [float(each.var(ddof=1)) / each.size for each in values]
    total = sum(errors)
    parts = sum(error**2 / (each.size - 1) for error, each in zip(errors, values, strict=True))
    return first, second, _interval(first - second, math.sqrt(total), total**2 / parts if parts else 1), RUNS, count


def _interval(estimate: float, error: float, freedom: float) -> Interval:
    half = student_quantile(freedom, (1 + LEVEL) / 2) * error
    return Interval(estimate, estimate - half, estimate + half)
