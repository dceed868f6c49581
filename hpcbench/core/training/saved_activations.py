"""The memory of saved activations, as a part of records."""

from dataclasses import dataclass
from typing import Optional

from ..record_field import described


@dataclass(frozen=True)
class SavedActivations:
    """The memory that the forward pass of one batch keeps for its backward pass, on rank 0."""

    bytes: Optional[int] = described(
        "memory that the forward pass of the task `backward` keeps for the backward pass, without weights and inputs",
        "saved_activation_bytes",
        "B",
        default=None,
    )
    method: Optional[str] = described("how it was measured", default=None)
    reason: Optional[str] = described("why it was not measured", "saved_activation_reason", default=None)
