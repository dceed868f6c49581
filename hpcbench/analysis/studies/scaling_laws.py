"""Laws of scaling, fitted: what part of the work is serial, what contention and coherency cost.

- Amdahl (1967), "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS 30,
  for a problem of constant size: T(p) = T(1) (f + (1 - f) / p), with the serial fraction f.
- Gustafson (1988), "Reevaluating Amdahl's law", CACM 31, for a problem that grows with p: the rate is
  X(p) = X(1) (s + (1 - s) p), with the serial part s of the time.
- The Universal Scalability Law (Gunther, 2007, "Guerrilla Capacity Planning"; Gunther, Puglia and
  Tomasette, 2015, "Hadoop superlinear scalability", ACM Queue 13): X(p) = g p / (1 + a (p - 1) + b p (p - 1)), with
  contention a (for b = 0 it is Amdahl's law), coherency b, and g, what one would do alone. Beyond
  p = sqrt((1 - a) / b), more do less.

Each is linear in what it is made of (T in 1 and 1/p; X in 1 and p; p / X in 1, p - 1 and p (p - 1)), with parts that
cannot be negative, so that it is fitted by non-negative least squares (Lawson and Hanson, 1974, "Solving Least Squares
Problems", chapter 23) of the relative errors. There is no start to choose, and no other optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpcbench.analysis.cases.bootstrap_replicates import interval_of
from hpcbench.analysis.stats.intervals import LEVEL, Floats, Interval


@dataclass(frozen=True)
class Law:
    """A law that is linear in its parts. Its response is the time, the rate, or the processors over the rate."""

    name: str
    parameters: tuple[str, ...]
    fewest: int  # different numbers of processors that it takes to fit it
    terms: Callable[[Floats], Floats]  # of p: (points, parts)
    response: Callable[[Floats, Floats], Floats]  # of p and rates; of p and responses it gives the rates again
    values: Callable[[Floats], tuple[float, ...]]  # of the parameters, by the parts

    def rates(self, parts: Floats, processors: Floats) -> Floats:
        """Return items per second on so many processors."""
        return self.response(processors, self.terms(processors) @ parts)


@dataclass(frozen=True)
class Fit:
    """A fitted law. `error` is the root mean square of the relative errors of its rates."""

    law: Law
    parts: Floats
    parameters: dict[str, Interval]
    error: float
    plausible: Floats | None  # (draws, parts): other parts that it could as well have had

    def curve(self, processors: Floats) -> Floats:
        """Return the rate with the limits of its interval, (points, 3); the limits are the rate if they are unknown."""
        rates = self.law.rates(self.parts, processors)
        if self.plausible is None:
            return np.column_stack([rates, rates, rates])
        drawn = np.array([self.law.rates(parts, processors) for parts in self.plausible])
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return np.column_stack([rates, np.minimum(low, rates), np.maximum(high, rates)])

    def interval(self, derived: Callable[..., float]) -> Interval:
        """Return the interval of a function of the parameters."""
        estimate = derived(*self.law.values(self.parts))
        if self.plausible is None:
            return Interval(estimate, None, None)
        return interval_of(estimate, np.array([derived(*self.law.values(parts)) for parts in self.plausible]))


def fit(law: Law, processors: Floats, rates: Floats, replicates: Floats | None) -> Fit | None:
    """Fit a law to rates on numbers of processors; `replicates` of the rates, (draws, points), give intervals.

    Return None with too few different numbers of processors, and if no parts are a solution.
    """
    parts = _parts(law, processors, rates) if np.unique(processors).size >= law.fewest else None
    if parts is None:
        return None
    drawn = [] if replicates is None else [_parts(law, processors, each) for each in replicates]
    plausible = [each for each in drawn if each is not None]
    error = float(np.sqrt(np.mean((law.rates(parts, processors) / rates - 1) ** 2)))
    found = Fit(law, parts, {}, error, np.array(plausible) if plausible else None)
    for place, name in enumerate(law.parameters):
        found.parameters[name] = found.interval(lambda *values, place=place: values[place])
    return found


def _parts(law: Law, processors: Floats, rates: Floats) -> Floats | None:
    from scipy.optimize import nnls  # a third of a second, which most reports need not wait for

    response = law.response(processors, rates)
    parts: Floats = nnls(law.terms(processors) / response[:, None], np.ones_like(rates))[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return parts if np.isfinite(law.values(parts)).all() else None


AMDAHL = Law(
    "Amdahl's law",
    ("serial_fraction",),
    3,
    lambda p: np.column_stack([np.ones_like(p), 1 / p]),
    lambda _, rates: 1 / rates,
    lambda parts: (parts[0] / (parts[0] + parts[1]),),
)
GUSTAFSON = Law(
    "Gustafson's law",
    ("serial_fraction",),
    3,
    lambda p: np.column_stack([np.ones_like(p), p]),
    lambda _, rates: rates,
    lambda parts: (parts[0] / (parts[0] + parts[1]),),
)
USL = Law(
    "Universal Scalability Law",
    ("contention", "coherency"),
    4,
    lambda p: np.column_stack([np.ones_like(p), p - 1, p * (p - 1)]),
    lambda p, rates: p / rates,
    lambda parts: (parts[1] / parts[0], parts[2] / parts[0]),
)


def peak(contention: float, coherency: float) -> float:
    """Return the number of processors with the highest rate by the Universal Scalability Law; may be infinite."""
    if coherency == 0:
        return float("inf")
    return float(np.sqrt(max(0.0, 1 - contention) / coherency))
