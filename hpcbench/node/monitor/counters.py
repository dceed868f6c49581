"""Sums of what a counter of the system has counted since we first looked, whatever the counter does meanwhile."""

from typing import Optional


class Counter:
    """Goes on where the counter wraps around. One that falls otherwise was set anew: what it counted unseen is lost."""

    def __init__(self, wraps_at: Optional[float] = None, starts_at: Optional[float] = None) -> None:
        """`starts_at`: where the counter stood before our first reading; unset, that reading only shows it."""
        self.sum: Optional[float] = None if starts_at is None else 0.0  # None while there has been no reading
        self.resets = 0
        self._wraps_at = wraps_at
        self._last = starts_at

    def add(self, reading: Optional[float]) -> Optional[float]:
        """Return the sum with this reading. An absent reading adds nothing."""
        if reading is not None:
            self.step(reading)
        return self.sum

    def step(self, reading: float) -> float:
        """By how much the sum grew with this reading."""
        step = 0.0 if self._last is None else self._grown(reading - self._last)
        self._last = reading
        self.sum = (self.sum or 0) + step
        return step

    def _grown(self, difference: float) -> float:
        if difference >= 0:
            return difference
        # A wrapped counter has come from near its end: a fall by less than half of its range is no wrap. One by more
        # than all of it tells that the range is another.
        if self._wraps_at is not None and -self._wraps_at <= difference < -self._wraps_at / 2:
            return difference + self._wraps_at
        self.resets += 1
        return 0
