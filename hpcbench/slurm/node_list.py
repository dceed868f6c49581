"""Lists of nodes as Slurm writes them: `n[1-3,5]`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from hpcbench.core import ranges

_ONE = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)


def expand(text: str) -> list[str]:
    """Return the names of the nodes in a list. Return the text itself if it is not a list."""
    try:
        return [name for part in _ONE.findall(text) for name in _names(part)]
    except ValueError:
        return [text]


def _names(part: str) -> list[str]:
    """Return the names for one item such as `rack[1-2]n[01-04]`. After the split, odd pieces were in brackets."""
    pieces = re.split(r"\[(.*?)\]", part)
    choices = [_numbers(piece) if place % 2 else [piece] for place, piece in enumerate(pieces)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def _numbers(text: str) -> list[str]:
    """Return 08, 09 and 10 for `08-10`."""
    found = []
    for each in text.split(","):
        width = len(each.partition("-")[0])
        found += [str(number).zfill(width) for number in ranges.expand(each)]
    return found


def compact(names: Iterable[str]) -> str:
    """Return names as a sorted list of Slurm: `login,n[1-3]` for n1, n2, n3 and login."""
    numbers: dict[str, set[str]] = {}
    plain = set()
    for name in names:
        numbered = _NUMBERED.fullmatch(name)
        if numbered:
            numbers.setdefault(numbered[1], set()).add(numbered[2])
        else:
            plain.add(name)
    return ",".join([*sorted(plain), *(f"{start}{_folded(found)}" for start, found in sorted(numbers.items()))])


def _folded(digits: set[str]) -> str:
    """Return numbers as ranges. Numbers of one width are padded to it if one of them begins with 0."""
    padded = {len(number) for number in digits if number.startswith("0")} - {1}
    by_width: dict[int, list[int]] = {}
    for number in digits:
        by_width.setdefault(len(number) if len(number) in padded else 1, []).append(int(number))
    folded = [
        re.sub(r"\d+", lambda found: found[0].zfill(width), ranges.compact(numbers))  # noqa: B023
        for width, numbers in sorted(by_width.items())
    ]
    return next(iter(digits)) if len(digits) == 1 else f"[{','.join(folded)}]"
