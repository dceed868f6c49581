"""The expected end of a sweep, at the current pace of its runs."""

from __future__ import annotations

from collections.abc import Iterable

MIN_ENDED = 5  # runs that must have ended before there is an estimate
LATEST = 20  # runs that give the pace,
ROUNDS = 4  # or this many rounds of all concurrent runs, if these are more runs
MAX_S = 365 * 86400.0  # from now: if it is more, a clock was set during a run
PAUSE_S = 600.0  # without any run: the sweep was resumed after it

Span = tuple[float, float]  # start and end of a run, in seconds since the epoch


def expected_end(spans: Iterable[Span], running: int, left: int, now: float) -> float | None:
    """Return when the `left` runs, some of which are `running`, will have ended, in seconds since the epoch.

    The pace is the number of runs that ended per second. It is measured over the latest 20 runs, or over four rounds
    if more run concurrently: runs that start together end together, and such a burst is not the pace. Time in the queue
    counts; a pause before the sweep was resumed does not. Runs are in random order, so those left are like the others.

    Return None if too few runs have ended, if none is running, if none has ended for longer than any took, or if the
    end would be in the past or more than a year away.
    """
    end = _at_pace(spans, running, left, now)
    return end if end is not None and 0 <= end - now <= MAX_S else None


def _at_pace(spans: Iterable[Span], running: int, left: int, now: float) -> float | None:
    counted = max(LATEST, ROUNDS * running)
    latest = _since_pause(sorted(spans, key=lambda span: span[1])[-counted - 1 :])
    if running == 0 or len(latest) < MIN_ENDED:
        return None
    now = max(now, latest[-1][1])  # the clocks of nodes may be ahead
    if now - latest[-1][1] > max(end - start for start, end in latest) + PAUSE_S:
        return None
    if len(latest) > counted:
        return now + left * (now - latest[0][1]) / counted
    return now + left * (now - min(start for start, _ in latest)) / len(latest)


def _since_pause(ended: list[Span]) -> list[Span]:
    """Return the runs since the last pause."""
    begun = float("inf")
    for place, (start, end) in reversed(list(enumerate(ended))):
        if begun - end > PAUSE_S and begun < float("inf"):
            return ended[place + 1 :]
        begun = min(begun, start)
    return ended
