"""What the predictions of a sweep are based on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PredictionBasis:
    """The models that predicted the cases of a sweep, in words and by hashes, and when; hashes are None without data.

    `interval_level` is the probability of the prediction intervals.
    """

    sweep: str
    predicted_at: str
    model: str
    model_sha256: str | None
    data_hash: str | None
    interval_level: float = 0.9
