"""The values that programs logged over their steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from hpcbench.core.metrics.logged import PHASE
from hpcbench.core.record import MetricValue, Record

COLUMNS = ["case", "name", "step", "value"]


def curves(records: Mapping[str, Record]) -> pd.DataFrame:
    """Return a row per logged value of the records, which are given by the names of their cases.

    Values that are in a record under several names are returned once.
    """
    frames = [
        pd.DataFrame({"case": case, "name": name, "step": metric.steps, "value": metric.values})
        for case, record in records.items()
        for name, metric in _logged(record).items()
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _logged(record: Record) -> dict[str, MetricValue]:
    found: dict[Any, tuple[str, MetricValue]] = {}
    for name, metric in (record.metrics or {}).items():
        if metric.steps and not name.startswith(PHASE):
            found.setdefault((tuple(metric.steps), tuple(metric.values)), (name, metric))
    return dict(found.values())
