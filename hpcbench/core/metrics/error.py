"""The error for a metric that has no value."""

SHOWN = 60  # characters of what was found, in a message


class MetricError(Exception):
    """A metric has no value. The message names what was searched for and what was found."""


def short(text: str) -> str:
    """Return a text in quotes, with at most SHOWN characters."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")
