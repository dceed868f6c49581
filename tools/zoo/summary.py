"""Summarise the operators of a network per image, from forward passes of two batch sizes and two image sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from operator_costs import Call

BATCHES = (2, 4)
# Columns of a row. Counts are per image if `per_image` is 1, otherwise per step. `macs_power` and `elements_power` are
# the powers of the number of pixels by which the counts grow.
COLUMNS = (
    *("kind", "calls", "rows", "columns", "depth", "groups", "read", "written"),
    *("per_image", "macs_power", "elements_power"),
)


def summary(
    small: Sequence[Call], large: Sequence[Call], larger: Sequence[Call] | None, pixels: float
) -> list[list[object]]:
    """Return one row per distinct operator.

    `small` and `large` have the batch sizes of BATCHES; `larger` has the smaller batch and images of `pixels` times as
    many pixels. Raise ValueError if the passes differ in their operators.
    """
    if not _alike(small, large):
        raise ValueError("the operators depend on the batch size")
    grown = larger if larger is not None and _alike(small, larger) else None
    rows: Counter[tuple[object, ...]] = Counter()
    for place, (few, many) in enumerate(zip(small, large, strict=True)):
        powers = _powers(few, grown[place], pixels) if grown else (None, None)
        rows[(*_per_image(few, many), *powers)] += 1
    return [[row[0], calls, *row[1:]] for row, calls in rows.items()]


def _alike(one: Sequence[Call], other: Sequence[Call]) -> bool:
    return [call.kind for call in one] == [call.kind for call in other]


def _per_image(few: Call, many: Call) -> tuple[object, ...]:
    images = BATCHES[1] - BATCHES[0]
    grows = (many.read + many.written) > (few.read + few.written) or _macs(many) > _macs(few)
    if not grows:
        return few.kind, few.rows, few.columns, few.depth, few.groups, few.read, few.written, 0
    in_groups = many.groups > few.groups
    rows = few.rows if in_groups else (many.rows - few.rows) // images
    groups = (many.groups - few.groups) // images if in_groups else few.groups
    read, written = (many.read - few.read) // images, (many.written - few.written) // images
    return few.kind, rows, few.columns, few.depth, groups, read, written, 1


def _powers(few: Call, grown: Call, pixels: float) -> tuple[float, float]:
    return (
        _power(_macs(few), _macs(grown), pixels),
        _power(few.read + few.written, grown.read + grown.written, pixels),
    )


def _power(one: int, other: int, pixels: float) -> float:
    return round(math.log(other / one) / math.log(pixels), 1) if one and other else 0.0


def _macs(call: Call) -> int:
    return call.rows * call.columns * call.depth * call.groups
