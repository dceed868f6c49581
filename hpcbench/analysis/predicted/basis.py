"""What the predictions of a sweep are based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PredictionBasis:
    """The models that predicted the cases of a sweep, in words and by hashes, and when; hashes are None without data.

    `devices_under_load` are those whose peaks were measured while other processes used them. `interval_level` is the
    probability of the prediction intervals.
    """

    sweep: str
    predicted_at: str
    model: str
    model_sha256: str | None
    data_hash: str | None
    devices_under_load: Sequence[str] = ()
    interval_level: float = 0.9
