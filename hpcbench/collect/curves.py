"""The values that programs logged over their steps, and loss and accuracies of trainings over their epochs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from hpcbench.core.metrics.logged import PHASE
from hpcbench.core.record import MetricValue, Record
from hpcbench.core.status import COMPLETED, MISSED

COLUMNS = ["case", "name", "axis", "step", "value"]
EPOCHS = ["sweep", "case", "run", "epoch", "accuracy"]
_OF_EPOCHS = {"training loss": "loss", "training accuracy": "training_accuracy", "validation accuracy": "accuracy"}


def curves(records: Mapping[str, Record]) -> pd.DataFrame:
    """Return a row per value of the records, which are given by the names of their cases.

    `step` is the number of a step or an epoch, by `axis`. Values that are in a record under several names are returned
    once.
    """
    frames = [
        pd.DataFrame({"case": case, "name": name, "axis": "step", "step": metric.steps, "value": metric.values})
        for case, record in records.items()
        for name, metric in _logged(record).items()
    ]
    frames += [
        pd.DataFrame({"case": case, "name": "training loss", "axis": "training step", "step": steps, "value": losses})
        for case, record in records.items()
        for steps, losses in _of_steps(record)
    ]
    frames += [
        pd.DataFrame({"case": case, "name": name, "axis": "epoch", "step": epochs, "value": values})
        for case, record in records.items()
        for name, epochs, values in _of_epochs(record)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def epoch_table(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row per epoch of each training that ended by itself: it reached its target, or missed it.

    Runs that train several models are left out, since their ranks do not train together.
    """
    rows = [
        (record.sweep, record.case_id, record.run, epoch.epoch, epoch.accuracy)
        for record in records
        if record.learning and not record.models and (record.status == COMPLETED or record.error_type == MISSED)
        for epoch in record.learning.curve
    ]
    return pd.DataFrame(rows, columns=EPOCHS)


def _logged(record: Record) -> dict[str, MetricValue]:
    found: dict[Any, tuple[str, MetricValue]] = {}
    for name, metric in (record.metrics or {}).items():
        if metric.steps and not name.startswith(PHASE):
            found.setdefault((tuple(metric.steps), tuple(metric.values)), (name, metric))
    return dict(found.values())


def _of_steps(record: Record) -> Iterator[tuple[list[int], list[float]]]:
    """Yield steps and losses of the trajectory of a training, numbered from 1, without losses that are not finite."""
    losses = record.trajectory.losses if record.trajectory else ()
    known = [(step, loss) for step, loss in enumerate(losses, 1) if loss is not None]
    if known:
        yield [step for step, _ in known], [loss for _, loss in known]


def _of_epochs(record: Record) -> Iterator[tuple[str, list[int], list[float]]]:
    """Yield name, epochs and values of each curve of a training to a target accuracy."""
    curve = record.learning.curve if record.learning else ()
    for name, field in _OF_EPOCHS.items():
        points = [(epoch.epoch, getattr(epoch, field)) for epoch in curve]
        known = [point for point in points if point[1] is not None]
        if known:
            yield name, [epoch for epoch, _ in known], [value for _, value in known]
