"""Decide whether a run is retried automatically.

The driver of a job, a requeued job, the survey of a sweep and the continuation job all use this rule.
"""

from typing import Collection, Optional, Protocol, Sequence

from ..samples import INTERFERENCE


class Attempt(Protocol):
    """The outcome of an attempt. A record has these properties."""

    @property
    def status(self) -> str:
        """Return how the attempt ended."""

    @property
    def verdict(self) -> Optional[str]:
        """Return whether there was interference, or None if the attempt did not complete."""


def is_tried_again(attempts: Sequence[Attempt], retries: int, retried: Collection[str], most: int) -> bool:
    """Return whether a run gets another attempt after these ones, the oldest first. A run without attempts does.

    The last attempt decides: interference causes at most `retries` new attempts, and outcomes in `retried` at most
    `most`. Neither limit counts the attempts of the other cause.
    """
    if not attempts:
        return True
    if attempts[-1].verdict == INTERFERENCE:
        return sum(attempt.verdict == INTERFERENCE for attempt in attempts) <= retries
    return attempts[-1].status in retried and sum(attempt.status in retried for attempt in attempts) <= most
