"""The state of the page cache during a measurement of an input pipeline, as a part of records."""

from dataclasses import dataclass
from typing import Optional

from ..record_field import described

WARM, COLD = "warm", "cold"
STATES = (WARM, COLD)


@dataclass(frozen=True)
class PageCache:
    """How much of the data files was in the page cache, on rank 0."""

    resident_fraction: Optional[float] = described(
        "fraction of the data files in the page cache before the measurement; if it is cold, the largest after all "
        "evictions",
        "resident_fraction",
        default=None,
    )
    evictions: int = described("how often the files were dropped from the page cache", default=0)
    reason: Optional[str] = described("why it was not measured", default=None)
