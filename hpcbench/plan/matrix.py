"""From the axes of an experiment to its points: product, zip groups, included and excluded points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from hpcbench.config.axes import Axes, axis_values
from hpcbench.config.experiment import Experiment

Point = dict[str, Any]


def count_points(experiment: Experiment) -> int:
    """How many points there are before any is excluded, without making them."""
    sizes = [len(axis_values(axis)) for axis in experiment.matrix.values()]
    sizes += [len(_walked(group)) for group in experiment.zip]
    has_product = bool(sizes) or not experiment.include
    return has_product * math.prod(sizes) + sum(math.prod(map(len, _listed(p).values())) for p in experiment.include)


def points(experiment: Experiment) -> Iterator[Point]:
    """The points in the order of the file, the last axis fastest; included points follow."""
    groups: list[list[Point]] = [
        [{name: value} for value in axis_values(axis)] for name, axis in experiment.matrix.items()
    ]
    groups += [_walked(group) for group in experiment.zip]
    if groups or not experiment.include:
        for parts in itertools.product(*groups):
            yield {name: value for part in parts for name, value in part.items()}
    for included in experiment.include:
        listed = _listed(included)
        for values in itertools.product(*listed.values()):
            yield dict(zip(listed, values, strict=True))


def _walked(group: Axes) -> list[Point]:
    columns = [axis_values(axis) for axis in group.values()]
    return [dict(zip(group, values, strict=True)) for values in zip(*columns, strict=True)]


def _listed(point: Point) -> dict[str, list[Any]]:
    return {name: value if isinstance(value, list) else [value] for name, value in point.items()}
