"""Fit the covariance of operators to profiled CPUs, by maximum likelihood.

usage: python benchmarks/fit_covariance.py MODEL_FILE...

The values of `Covariance` maximize the likelihood of the measured operators of all CPUs in the model files, which
`hpcbench predictor fit` wrote [1, equation 2.30]. The fit leaves out the tenth of the operators with the largest
leave-one-out errors [1, equation 5.12], because outliers would dominate the likelihood. A prior keeps values that the
operators do not determine near those in `OF_OPERATORS`.

[1] C. E. Rasmussen, C. K. I. Williams, "Gaussian processes for machine learning", MIT Press, 2006.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from hpcbench.predict.measured.covariance import OF_OPERATORS, Covariance, Points
from hpcbench.predict.measured.kriging import Kriging
from hpcbench.predict.measured.similar_operators import MeasuredCPUs
from hpcbench.predict.tables.prediction import Floats

LEFT_OUT = 0.1  # fraction of the operators
PRIOR = 0.5  # standard deviation of the logarithm of each value around the present one
NAMES = tuple(each.name for each in fields(Covariance))


def main() -> None:
    """Print each value now, and with the largest likelihood."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="MODEL_FILE", help="model file of hpcbench predictor fit"
    )
    measured = [each for file in parser.parse_args().files for each in measured_cpus(file)]
    if not measured:
        raise SystemExit("the model files have no profiled CPUs")
    kept = [without_outliers(each) for each in measured]
    print(f"{sum(len(each.rest) for each in kept):,} operators on {len(kept)} devices")
    found = asdict(most_likely(kept))
    for name, value in asdict(OF_OPERATORS).items():
        print(f"{name:20} {value:6.3g} now, {found[name]:6.3g} most likely")


def measured_cpus(file: Path) -> list[Kriging]:
    """Return the fitted Gaussian process of each profiled CPU in a model file."""
    models = json.loads(file.read_text(encoding="utf-8"))["models"]
    return [MeasuredCPUs.from_json(each).efficiency for each in models["listed"]["similar"].values()]


def without_outliers(measured: Kriging) -> Kriging:
    """Return the operators without those that are the farthest from their prediction by the others."""
    inverse = np.linalg.inv(OF_OPERATORS.measured(measured.points))
    deviations = np.abs(inverse @ measured.rest) / np.sqrt(np.diag(inverse))
    kept = deviations <= np.quantile(deviations, 1.0 - LEFT_OUT)
    arrays = {each.name: getattr(measured.points, each.name)[kept] for each in fields(Points)}
    return Kriging(Points(**arrays), measured.rest[kept])


def most_likely(measured: Sequence[Kriging]) -> Covariance:
    """Return the values with the largest likelihood, and a log-normal prior around the present ones."""

    def loss(logarithms: Floats) -> float:
        values = replace(OF_OPERATORS, **dict(zip(NAMES, np.exp(logarithms).tolist(), strict=True)))
        prior = float(np.sum(((logarithms - start) / PRIOR) ** 2)) / 2
        return prior - sum(log_likelihood(values, each) for each in measured)

    start = np.log([asdict(OF_OPERATORS)[name] for name in NAMES])
    best = minimize(loss, start, method="L-BFGS-B", options={"maxiter": 60}).x
    return replace(OF_OPERATORS, **dict(zip(NAMES, np.exp(best).tolist(), strict=True)))


def log_likelihood(values: Covariance, measured: Kriging) -> float:
    """Return the logarithm of the likelihood of measured operators, without its constant."""
    lower = np.linalg.cholesky(values.measured(measured.points))
    whitened = np.linalg.solve(lower, measured.rest)
    return -0.5 * float(whitened @ whitened) - float(np.sum(np.log(np.diag(lower))))


if __name__ == "__main__":
    main()
