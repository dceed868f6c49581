"""Rows of operators, made ready for the model: names, families, bounds, features, and floors' priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import device_names
from hpcbench.predict.operators.features import features
from hpcbench.predict.operators.precision import precisions
from hpcbench.predict.operators.sustained import sustained_bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.families import families
from hpcbench.predict.time.floors import floor_keys
from hpcbench.predict.time.priors import events, prior_floor


@dataclass(frozen=True)
class Prepared:
    """Rows of operators with what the model needs, as arrays and series of equal length and index."""

    rows: pd.DataFrame
    names: pd.Series  # of devices, without aliases
    family: pd.Series
    precision: pd.Series  # the data type; one name for those of 16 bits if the device computes both equally fast
    keys: pd.Series  # of floors
    bound_s: Floats
    prior_s: Floats  # of floors
    events_s: Floats
    features: pd.DataFrame

    @property
    def subjects(self) -> pd.Series:
        """Return what has effects of its own: the device with the precision."""
        return self.names + "|" + self.precision

    @property
    def subject_families(self) -> pd.Series:
        """Return the family with the precision."""
        return self.family + "|" + self.precision

    def select(self, chosen: np.ndarray) -> Prepared:
        """Return some of the rows."""
        return Prepared(**{each.name: getattr(self, each.name)[chosen] for each in fields(self)})


def prepare(rows: pd.DataFrame, devices: Mapping[str, Device], in_stream: bool = False) -> Prepared:
    """Return the rows of a table of operators, prepared; `in_stream` overrides how each row is timed."""
    rows = rows.reset_index(drop=True)
    timing = rows["timing"].where(rows["timing"] == table.STREAM, table.CALL)
    if in_stream:
        timing = pd.Series(table.STREAM, index=rows.index)
    family, precision = families(rows), precisions(rows, devices)
    bounds = sustained_bounds(rows, devices)
    return Prepared(
        rows=rows,
        names=device_names(rows, devices).astype("object"),
        family=family,
        precision=precision,
        keys=floor_keys(rows, family, precision, timing),
        bound_s=bounds.soft_s(),
        prior_s=prior_floor(rows, devices, timing),
        events_s=events(rows, devices, timing),
        features=features(rows, devices, bounds),
    )
