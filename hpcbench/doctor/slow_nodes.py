"""Compare the speeds of nodes: outliers among the nodes that have the same hardware and ran the same kernels."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hpcbench.core.node_speed import NodeSpeed, Rate, unit_of

LEAST = 3  # rates that can be compared: of two, which is unusual is unknown
SLOWER = 0.05  # less matters little, and differs from day to day
_OUTLIER, _NORMAL = 3.5, 0.6745


class Kind(NamedTuple):
    """The properties in which compared rates must agree."""

    model: str
    cpus: int | None
    kernel: str
    measured_by: str

    def __str__(self) -> str:
        """Return e.g. `float32 products on 4 cores of AMD EPYC 7742`."""
        where = f"{self.cpus} core{'s' if self.cpus != 1 else ''} of {self.model}" if self.cpus else self.model
        return f"{self.kernel} on {where}"


class Measured(NamedTuple):
    """A rate with its node."""

    host: str
    rate: Rate

    @property
    def where(self) -> str:
        """Return the name of the node, with the GPU if it is one."""
        return self.host if self.rate.gpu is None else f"{self.host} GPU {self.rate.gpu}"


@dataclass(frozen=True)
class Comparison:
    """The rates of one kind, from low to high, their median, and those that are outliers."""

    kind: Kind
    rates: tuple[Measured, ...]
    median: float
    slow: tuple[Measured, ...]

    @property
    def is_possible(self) -> bool:
        """Return whether there are enough rates to find outliers."""
        return len(self.rates) >= LEAST

    def below_median(self, measured: Measured) -> float:
        """Return how far a rate is below the median, as a fraction of the median."""
        return 1 - measured.rate.value / self.median


def compare_nodes(speeds: Sequence[NodeSpeed]) -> list[Comparison]:
    """Return a comparison for each kind of rates, in the order of the rates of the nodes.

    A rate is an outlier if it is more than 5 % lower than the median, and its modified z-score,
    0.6745 (x - median) / MAD, is below -3.5 (Iglewicz and Hoaglin, 1993, "How to Detect and Handle Outliers", ASQC).
    """
    kinds: dict[Kind, list[Measured]] = {}
    for speed in speeds:
        for rate in speed.rates:
            kind = Kind(rate.model, rate.cpus, rate.kernel, rate.measured_by)
            kinds.setdefault(kind, []).append(Measured(speed.host, rate))
    return [_compared(kind, rates) for kind, rates in kinds.items()]


def _compared(kind: Kind, rates: list[Measured]) -> Comparison:
    ordered = sorted(rates, key=lambda each: each.rate.value)
    values = [each.rate.value for each in ordered]
    median = statistics.median(values)
    mad = statistics.median(abs(value - median) for value in values)
    slow = [
        each
        for each in ordered
        if each.rate.value < (1 - SLOWER) * median and _NORMAL * (median - each.rate.value) > _OUTLIER * mad
    ]
    return Comparison(kind, tuple(ordered), median, tuple(slow) if len(ordered) >= LEAST else ())


def in_words(kernel: str, value: float) -> str:
    """Return a rate, e.g. `210 GFLOP/s` or `38.2 GB/s`."""
    unit = "B/s" if unit_of(kernel) == "bytes/s" else unit_of(kernel)
    return f"{value / 1e12:.3g} T{unit}" if value >= 1e12 else f"{value / 1e9:.3g} G{unit}"
