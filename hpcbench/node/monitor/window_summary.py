"""The activity of a node in a period, as one number or three for each column of its timeline."""

from typing import Dict, List, Union

from .timeline import Timeline

_DIGITS = 6  # significant digits


def of_window(timeline: Timeline, start_s: float, end_s: float) -> Dict[str, Union[float, List[float]]]:
    """Return the increase of each counter, and the minimum, mean and maximum of each gauge, by column."""
    found: Dict[str, Union[float, List[float]]] = {}
    for column in timeline.columns:
        if column in timeline.gauges:
            values = timeline.values(column, start_s, end_s)
            if values:
                found[column] = [_rounded(value) for value in (min(values), sum(values) / len(values), max(values))]
        else:
            grown = timeline.increase(column, start_s, end_s)
            if grown is not None:
                found[column] = _rounded(grown)
    return found


def _rounded(value: float) -> float:
    return float("%.*g" % (_DIGITS, value))
