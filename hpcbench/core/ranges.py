"""Ranges of numbers as Linux and Slurm write them: `0-3,7`, or `0-8:2` with a step."""

from typing import Iterable, List, Optional, Tuple


def compact(numbers: Iterable[int]) -> str:
    """Return numbers as ranges: `0-3,7` for 0, 1, 2, 3 and 7."""
    runs: List[List[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else "%d-%d" % (first, last) for first, last in runs)


def expand(text: Optional[str]) -> Tuple[int, ...]:
    """Return the numbers of a text such as `0-3,7` or `0-8:2`, or an empty tuple for None or an empty text.

    Raise ValueError for any other text.
    """
    numbers: List[int] = []
    for part in filter(None, (text or "").strip().split(",")):
        first, _, last = part.partition("-")
        last, _, step = last.partition(":")
        numbers += range(int(first), int(last or first) + 1, int(step or 1))
    return tuple(numbers)
