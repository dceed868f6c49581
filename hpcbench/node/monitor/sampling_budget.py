"""Distribute the cost of monitoring among sources, some of which cost a hundred times as much as others."""

from typing import List, Sequence


def allowances(demands: Sequence[float], most: float) -> List[float]:
    """Return the share of `most` for each demand: max-min fair (Bertsekas and Gallager, Data Networks, section 6.5.2).

    A demand below an equal share is met in full, and the rest is divided among the others. What exceeds all demands is
    divided equally, so that a source whose demand grows need not wait.
    """
    given = [0.0] * len(demands)
    left = most
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for place, index in enumerate(order):
        given[index] = min(demands[index], left / (len(order) - place))
        left -= given[index]
    return [share + left / len(given) for share in given]
