"""Whether a run is tried again without being asked for: one rule for its job, for a job that Slurm has started again,
for the survey of the sweep, and for the continuation job."""

from typing import Collection, Optional, Protocol, Sequence

from .samples import DISTURBED


class Attempt(Protocol):
    """What the rule needs of an attempt: a record has it."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def verdict(self) -> Optional[str]:
        """Whether there was interference; None if it did not complete."""


def is_tried_again(attempts: Sequence[Attempt], retries: int, retried: Collection[str], most: int) -> bool:
    """Return whether a run with these attempts, the oldest first, gets another one.

    The last attempt decides: interference causes at most `retries` new attempts, and outcomes in `retried` at most
    `most`. Neither limit counts the attempts of the other cause. A run without an attempt gets its first one.
    """
    if not attempts:
        return True
    if attempts[-1].verdict == DISTURBED:
        return sum(attempt.verdict == DISTURBED for attempt in attempts) <= retries
    return attempts[-1].status in retried and sum(attempt.status in retried for attempt in attempts) <= most
