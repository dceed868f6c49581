"""The predictions of the cases of a sweep: jobs/SWEEP/predictions.json, written when the sweep is created.

The file does not change afterwards: models that are fitted on the sweep later cannot improve its predictions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hpcbench.core.typed_json import from_json, to_json
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import content
from hpcbench.util.fast_json import decoded

SCHEMA = 1


@dataclass(frozen=True)
class Estimate:
    """A predicted value, and the limits of its 90 % prediction interval."""

    value: float
    low: float
    high: float

    @property
    def is_valid(self) -> bool:
        """Return whether the numbers are positive, finite and in order."""
        return 0 < self.low <= self.value <= self.high < math.inf


@dataclass(frozen=True)
class CasePrediction:
    """The predictions of a step of a case on a device; `reason` is why it has no time, or lacks other quantities."""

    case: str
    label: str
    device: str | None = None
    time_s: Estimate | None = None
    power_w: Estimate | None = None
    energy_j: Estimate | None = None
    memory_bytes: Estimate | None = None
    reason: str | None = None

    @property
    def estimates(self) -> Sequence[Estimate]:
        """Return the known estimates."""
        found = (self.time_s, self.power_w, self.energy_j, self.memory_bytes)
        return [each for each in found if each is not None]


@dataclass(frozen=True)
class PredictedDevice:
    """A device that cases were predicted on: its name, kind (`cpu` or `gpu`), all names that tools report, source.

    `clock_mhz` is the boost clock of a GPU; None for CPUs. `peaks_under_load` is whether `hpcbench doctor` measured its
    peaks while other processes used it.
    """

    name: str
    kind: str
    names: Sequence[str]
    source: str
    clock_mhz: float | None = None
    peaks_under_load: bool = False


@dataclass(frozen=True)
class SweepPredictions:
    """The predictions of a sweep, and the models that made them.

    `model` describes the models in words. `model_sha256` is the hash of their file and `data_hash` that of their data;
    both are None for models without measurements.
    """

    schema: int
    created_at: str
    hpcbench_version: str
    model: str
    model_sha256: str | None
    data_hash: str | None
    devices: Sequence[PredictedDevice]
    cases: Sequence[CasePrediction]

    @property
    def predicted(self) -> Sequence[CasePrediction]:
        """Return the cases with a time."""
        return [each for each in self.cases if each.time_s is not None]


def to_text(predictions: SweepPredictions) -> str:
    """Return the text of the file."""
    return json.dumps(to_json(predictions), indent=1) + "\n"


def read_predictions(paths: SweepPaths, tell: Callable[[str], object]) -> SweepPredictions | None:
    """Return the predictions of a sweep; None without any.

    If the file cannot be read, or another version of hpcbench wrote it, call `tell` with a message, and return None.
    """
    try:
        data = decoded(content(paths.predictions))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        found = from_json(SweepPredictions, data)
        wrong = [each.case for each in found.cases if not all(estimate.is_valid for estimate in each.estimates)]
        if wrong:
            raise ValueError(f"an interval of the case {wrong[0]} is not valid")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        tell(f"{paths.predictions}: the predictions of the sweep cannot be read, and are left out: {error}")
        return None
    return found
