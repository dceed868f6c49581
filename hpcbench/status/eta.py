"""When a sweep will have ended, at the pace at which its repetitions end now."""

from __future__ import annotations

from collections.abc import Iterable

FEWEST = 5  # that must have ended before anything is said
LATEST = 20  # by which the pace is known,
ROUNDS = 4  # or as many as end in so many rounds of all that run side by side
MOST_S = 365 * 86400.0  # from now: where it is more, a clock was set while a repetition ran
PAUSE_S = 600.0  # without anything running: the sweep was resumed after it

Span = tuple[float, float]  # start and end of a repetition, in seconds since the epoch


def expected_end(spans: Iterable[Span], running: int, left: int, now: float) -> float | None:
    """When the `left` repetitions, of which some are `running`, will have ended, in seconds since the epoch.

    The pace is how many have ended for each second since the one before them: of the latest 20, or of four times as
    many as run at once, for what starts together ends together, and a burst is no pace. Waiting in the queue slows it;
    a pause in which the sweep was left alone does not. What is left is taken to be like what has ended: repetitions
    run in random order. None where too few have ended, where nothing runs, and where nothing has ended for longer than
    any of them took, and where it would be in the past or more than a year away.
    """
    end = _at_pace(spans, running, left, now)
    return end if end is not None and 0 <= end - now <= MOST_S else None


def _at_pace(spans: Iterable[Span], running: int, left: int, now: float) -> float | None:
    counted = max(LATEST, ROUNDS * running)
    latest = _since_pause(sorted(spans, key=lambda span: span[1])[-counted - 1 :])
    if running == 0 or len(latest) < FEWEST:
        return None
    now = max(now, latest[-1][1])  # the clocks of nodes may be ahead
    if now - latest[-1][1] > max(end - start for start, end in latest) + PAUSE_S:
        return None
    if len(latest) > counted:
        return now + left * (now - latest[0][1]) / counted
    return now + left * (now - min(start for start, _ in latest)) / len(latest)


def _since_pause(ended: list[Span]) -> list[Span]:
    """The latest of these, up to a moment at which nothing had run for long."""
    begun = float("inf")
    for place, (start, end) in reversed(list(enumerate(ended))):
        if begun - end > PAUSE_S and begun < float("inf"):
            return ended[place + 1 :]
        begun = min(begun, start)
    return ended
