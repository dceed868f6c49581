"""Fitted scaling laws: the serial fraction of the work, and the costs of contention and coherency.

- Amdahl (1967), "Validity of the single processor approach to achieving large scale computing capabilities", AFIPS 30,
  for a problem of constant size: T(p) = T(1) (f + (1 - f) / p), with the serial fraction f.
- Gustafson (1988), "Reevaluating Amdahl's law", CACM 31, for a problem that grows with p: the rate is
  X(p) = X(1) (s + (1 - s) p), with the serial fraction s of the time.
- The Universal Scalability Law (Gunther, 2007, "Guerrilla Capacity Planning"; Gunther, Puglia and Tomasette, 2015,
  "Hadoop superlinear scalability", ACM Queue 13): X(p) = g p / (1 + a (p - 1) + b p (p - 1)), with
  contention a (for b = 0 it is Amdahl's law), coherency b, and the rate g of one processor. Beyond
  p = sqrt((1 - a) / b), the rate decreases.

Each law is linear in its terms (T in 1 and 1/p; X in 1 and p; p / X in 1, p - 1 and p (p - 1)) with non-negative
coefficients, the parts. So it is fitted by non-negative least squares (Lawson and Hanson, 1974, "Solving Least Squares
Problems", chapter 23) of the relative errors, a convex problem that needs no initial guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpcbench.analysis.cases.bootstrap_replicates import interval_of
from hpcbench.analysis.stats.intervals import LEVEL, Floats, Interval
from hpcbench.analysis.stats.nonnegative_fits import nonnegative_fits


@dataclass(frozen=True)
class Law:
    """A law whose response is linear in its parts: the time, the rate, or the processors over the rate."""

    name: str
    parameters: tuple[str, ...]
    fewest: int  # minimum of different numbers of processors for a fit
    terms: Callable[[Floats], Floats]  # design matrix for p, shape (points, parts)
    response: Callable[[Floats, Floats], Floats]  # of p and rates; an involution, so also rates of p and responses
    values: Callable[[Floats], tuple[Floats, ...]]  # parameters, given parts of shape (parts, ...)

    def rates(self, parts: Floats, processors: Floats) -> Floats:
        """Return the rates in items/s on the given numbers of processors."""
        return self.response(processors, self.terms(processors) @ parts)


@dataclass(frozen=True)
class Fit:
    """A fitted law. `error` is the largest relative error of its rates at the measured points."""

    law: Law
    parts: Floats
    parameters: dict[str, Interval]
    error: float
    plausible: Floats | None  # parts fitted to replicates of the rates, shape (draws, parts)

    def curve(self, processors: Floats) -> Floats:
        """Return the rates with lower and upper limits, shape (points, 3); unknown limits equal the rate."""
        rates = self.law.rates(self.parts, processors)
        if self.plausible is None:
            return np.column_stack([rates, rates, rates])
        drawn = self.law.response(processors, self.plausible @ self.law.terms(processors).T)
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return np.column_stack([rates, np.minimum(low, rates), np.maximum(high, rates)])

    def interval(self, derived: Callable[..., float]) -> Interval:
        """Return the value of a function of the parameters, with its interval."""
        estimate = derived(*self.law.values(self.parts))
        if self.plausible is None:
            return Interval(estimate, None, None)
        drawn = zip(*self.law.values(self.plausible.T), strict=True)
        return interval_of(estimate, np.array([derived(*values) for values in drawn]))


def fit(law: Law, processors: Floats, rates: Floats, replicates: Floats | None) -> Fit | None:
    """Fit a law to rates by numbers of processors; intervals are from `replicates` of the rates, (draws, points).

    Return None if there are too few different numbers of processors, or if a rate or a fitted parameter is not finite:
    a measured time of 0 is an infinite rate.
    """
    if np.unique(processors).size < law.fewest or not np.isfinite(rates).all():
        return None
    replicates = None if replicates is None else replicates[np.isfinite(replicates).all(axis=1)]
    found = _parts(law, processors, rates[None])
    if not len(found):
        return None
    plausible = None if replicates is None or not len(replicates) else _parts(law, processors, replicates)
    error = float(np.abs(law.rates(found[0], processors) / rates - 1).max())
    fitted = Fit(law, found[0], {}, error, plausible if plausible is not None and len(plausible) else None)
    for place, name in enumerate(law.parameters):
        fitted.parameters[name] = fitted.interval(lambda *values, place=place: values[place])
    return fitted


def _parts(law: Law, processors: Floats, rates: Floats) -> Floats:
    """Return the parts for each row of rates, shape (draws, points), without rows whose parameters are not finite."""
    found = nonnegative_fits(law.terms(processors) / law.response(processors, rates)[:, :, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        parts: Floats = found[np.isfinite(law.values(found.T)).all(axis=0)]
    return parts


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
    """Return the number of processors with the highest rate by the Universal Scalability Law, which may be infinite."""
    if coherency == 0:
        return float("inf")
    return float(np.sqrt(max(0.0, 1 - contention) / coherency))
