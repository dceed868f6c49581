"""Sums of the increases of a counter since the first reading, across wraps and resets."""

from typing import Optional


class Counter:
    """A counter that continues when it wraps. After a reset, the increase since the last reading is lost."""

    def __init__(self, wraps_at: Optional[float] = None, starts_at: Optional[float] = None) -> None:
        """`starts_at` is the value before the first reading; without it, the first reading is the reference."""
        self.sum: Optional[float] = None if starts_at is None else 0.0  # None before the first reading
        self.resets = 0
        self._wraps_at = wraps_at
        self._last = starts_at

    def add(self, reading: Optional[float]) -> Optional[float]:
        """Return the sum with this reading. An absent reading adds nothing."""
        if reading is not None:
            self.step(reading)
        return self.sum

    def step(self, reading: float) -> float:
        """Return by how much the sum grows with this reading."""
        step = 0.0 if self._last is None else self._grown(reading - self._last)
        self._last = reading
        self.sum = (self.sum or 0) + step
        return step

    def _grown(self, difference: float) -> float:
        if difference >= 0:
            return difference
        # A wrap comes from near the maximum: a decrease by less than half of the range is a reset. A decrease by more
        # than the range means that the range is a different one.
        if self._wraps_at is not None and -self._wraps_at <= difference < -self._wraps_at / 2:
            return difference + self._wraps_at
        self.resets += 1
        return 0
