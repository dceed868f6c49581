"""Expand the axes of an experiment into points: product, zip groups and included points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from hpcbench.config.matrix.axes import UNSET, Axes, axis_values

if TYPE_CHECKING:
    from hpcbench.config.experiment import Experiment

Values = dict[str, Any]


class Point(NamedTuple):
    """The values of one point, and the index of its `include` entry, if it comes from one."""

    values: Values
    included: int | None = None


def count_points(experiment: Experiment) -> int:
    """Return the number of points before exclusion, without generating them."""
    sizes = [len(axis_values(axis)) for axis in experiment.matrix.values()]
    sizes += [len(_walked(group)) for group in experiment.zip]
    has_product = bool(sizes) or not experiment.include
    return has_product * math.prod(sizes) + sum(math.prod(map(len, _listed(p).values())) for p in experiment.include)


def points(experiment: Experiment) -> Iterator[Point]:
    """Yield the points in the order of the file, the last axis fastest, and then the included points."""
    groups: list[list[Values]] = [
        [{name: value} for value in axis_values(axis)] for name, axis in experiment.matrix.items()
    ]
    groups += [_walked(group) for group in experiment.zip]
    if groups or not experiment.include:
        for parts in itertools.product(*groups):
            yield Point({name: value for part in parts for name, value in part.items()})
    for index, included in enumerate(experiment.include):
        listed = _listed(included)
        for values in itertools.product(*listed.values()):
            yield Point(dict(zip(listed, values, strict=True)), index)


def _walked(group: Axes) -> list[Values]:
    columns = [axis_values(axis) for axis in group.values()]
    rows = (zip(group, values, strict=True) for values in zip(*columns, strict=True))
    return [{name: value for name, value in row if value is not UNSET} for row in rows]


def _listed(point: Values) -> dict[str, list[Any]]:
    return {name: value if isinstance(value, list) else [value] for name, value in point.items()}
