"""Fit on one data set, predict another, and compare with its measurements."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from hpcbench.predict.basis import Basis
from hpcbench.predict.evaluation.answers import answers, relative_energies
from hpcbench.predict.evaluation.choices import Choice, choices
from hpcbench.predict.evaluation.measurements import measurements
from hpcbench.predict.evaluation.scores import Score, scores
from hpcbench.predict.sets.data_set import DataSet, merged
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables import operators as operator_table

KEY = ["file", "row", "quantity"]


@dataclass(frozen=True)
class Evaluation:
    """Predictions of a data set, and how they compare with its measurements."""

    predictions: pd.DataFrame  # the columns of `answers`
    scores: list[Score]
    choices: list[Choice]
    basis: Basis
    reasons: dict[str, int]  # of refused rows, with their number

    @property
    def flaws(self) -> tuple[str, ...]:
        """Return sentences about rows of the training data that were left out, or that are doubtful."""
        return self.basis.flaws

    def to_json(self) -> dict[str, Any]:
        """Return the scores and choices as JSON types; NaN is null."""
        return {
            "data_hash": self.basis.data_hash,
            "scores": [_finite(asdict(each)) for each in self.scores],
            "choices": [_finite(asdict(each)) for each in self.choices],
            "refused": self.reasons,
            "flaws": list(self.flaws),
        }


def evaluate(train: DataSet, test: DataSet, progress: Callable[[int, int], None]) -> Evaluation:
    """Return the evaluation of models that are fitted on `train`, for the rows of `test`.

    The lists and devices of `test` replace those of `train`. `progress` takes the numbers of finished and of all steps.
    """
    from hpcbench.predict.fleet import fit

    both = merged(train, test)
    asked = merged(DataSet(devices=both.devices), test)
    known = merged(DataSet(devices=both.devices), train)
    fleet = fit(known, progress)
    asked = DataSet(asked.operators, asked.networks, both.lists, both.devices, asked.files)
    blind = without_targets(asked)
    measured = measurements(asked, fleet.basis).merge(relative_energies(fleet, blind), on=KEY, how="left")
    return compared(answers(fleet, blind), measured, fleet.basis)


def without_targets(data: DataSet) -> DataSet:
    """Return a data set without its measurements, so that no prediction can depend on them."""
    return replace(
        data,
        operators=data.operators.assign(**dict.fromkeys(operator_table.TARGETS, math.nan)),
        networks=data.networks.assign(**dict.fromkeys(network_table.TARGETS, math.nan)),
    )


def compared(predicted: pd.DataFrame, measured: pd.DataFrame, basis: Basis) -> Evaluation:
    """Return the evaluation of predictions, as of `answers`, against measurements, as of `measurements`."""
    scored = measured.merge(predicted, on=KEY, how="left", validate="one_to_one")
    reasons = predicted.loc[predicted["reason"] != "", "reason"].value_counts()
    return Evaluation(
        predictions=predicted,
        scores=scores(scored),
        choices=choices(scored),
        basis=basis,
        reasons={str(reason): int(count) for reason, count in reasons.items()},
    )


def _finite(data: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(each, float) and not math.isfinite(each) else each for name, each in data.items()}
