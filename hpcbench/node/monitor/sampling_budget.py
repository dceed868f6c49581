"""Sharing out what watching may cost among sources of which some cost a hundred times what others do."""

from typing import List, Sequence


def allowances(demands: Sequence[float], most: float) -> List[float]:
    """Return how much of `most` each may take: max-min fair (Bertsekas and Gallager, Data Networks, section 6.5.2).

    Who asks for less than an equal share gets it, and what it leaves is shared out among the others. What nobody asks
    for is shared out, too, so that one that will ask for more need not wait.
    """
    given = [0.0] * len(demands)
    left = most
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for place, index in enumerate(order):
        given[index] = min(demands[index], left / (len(order) - place))
        left -= given[index]
    return [share + left / len(given) for share in given]
