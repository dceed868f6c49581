"""A time as a sum of seconds that are known up to factors: each factor depends on the conditions of the row.

    log part_j = log S_j + theta_j + z . u_j        t = (device^p + host^p)^(1/p)

S_j are seconds by the roofline (S. Williams et al., "Roofline", CACM 52 (2009)), such as those of all convolutions.
z are conditions such as the layout. The factors exp(theta + z . u) are inefficiencies and thus positive. `device` is
the sum of the parts that the device computes, and `host` that of the launches: they overlap the more, the larger p is.
The loss is the pseudo-Huber norm of the difference of logarithms (P. Charbonnier et al., ICIP 1994), with ridge
penalties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcbench.predict.tables.prediction import Floats

_LEAST = 1e-30  # second: stands for none
_LINEAR_ABOVE = 0.1  # difference of logarithms above which the loss is linear
_MOST_ITERATIONS = 300


@dataclass(frozen=True)
class Form:
    """What a fit holds fixed: which components are of the host, the power p, and penalties.

    `ridge` is the penalty of squared effects, and `drift` that of squared distances of levels from `prior`.
    """

    is_host: NDArray[np.bool_]
    power: float
    prior: Floats
    ridge: float
    drift: float


@dataclass(frozen=True)
class Mixture:
    """Fitted logarithms of factors: `level` by component, `effects` by component and condition."""

    level: Floats
    effects: Floats

    def log_times(self, seconds: Floats, conditions: Floats, form: Form) -> tuple[Floats, Floats]:
        """Return the logarithm of each time, and the fraction of each component in it."""
        return _joined(_logarithm(seconds) + self.level + conditions @ self.effects.T, form)

    def to_json(self) -> dict[str, Any]:
        """Return the factors as a dict of JSON types."""
        return {"level": self.level.tolist(), "effects": self.effects.tolist()}


def mixture_of(content: dict[str, Any]) -> Mixture:
    """Return the mixture with the content that `to_json` wrote."""
    level = np.array(content["level"], dtype="float64")
    return Mixture(level, np.array(content["effects"], dtype="float64").reshape(len(level), -1))


def unfitted(form: Form, conditions: int) -> Mixture:
    """Return the mixture that a fit without rows would have."""
    return Mixture(form.prior, np.zeros((len(form.prior), conditions)))


def fit_mixture(seconds: Floats, conditions: Floats, log_time: Floats, weights: Floats, form: Form) -> Mixture:
    """Return the factors with the least loss. `weights` are those of rows."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    start = unfitted(form, conditions.shape[1])
    count, width = start.effects.shape
    logs, share = _logarithm(seconds), weights / weights.sum()

    def loss(parameters: Floats) -> tuple[float, Floats]:
        level, effects = parameters[:count], parameters[count:].reshape(count, width)
        total, fractions = _joined(logs + level + conditions @ effects.T, form)
        error = total - log_time
        norm = np.hypot(error, _LINEAR_ABOVE)
        slopes = (share * error / norm)[:, None] * fractions
        away = level - form.prior
        value = share @ (norm - _LINEAR_ABOVE) + form.ridge * np.sum(effects**2) + form.drift * np.sum(away**2)
        of_level = slopes.sum(axis=0) + 2 * form.drift * away
        of_effects = slopes.T @ conditions + 2 * form.ridge * effects
        return float(value), np.concatenate([of_level, of_effects.ravel()])

    first = np.concatenate([start.level, start.effects.ravel()])
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_ITERATIONS})
    return Mixture(found.x[:count], found.x[count:].reshape(count, width))


def _joined(log_parts: Floats, form: Form) -> tuple[Floats, Floats]:
    """Return the logarithm of the time, and its derivative by that of each part, which is the fraction of the part."""
    shift = log_parts.max(axis=1)
    parts = np.exp(log_parts - shift[:, None])
    device, host = (np.maximum(parts[:, mask].sum(axis=1), _LEAST) for mask in (~form.is_host, form.is_host))
    both = device**form.power + host**form.power
    of_device, of_host = device ** (form.power - 1) / both, host ** (form.power - 1) / both
    return shift + np.log(both) / form.power, parts * np.where(form.is_host, of_host[:, None], of_device[:, None])


def _logarithm(seconds: Floats) -> Floats:
    return np.log(np.maximum(seconds, _LEAST))
