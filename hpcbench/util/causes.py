"""Recognise messages of failures with the same cause, which may differ in numbers, nodes, times and temporary paths."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

_SOME = "#"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_IN_WORD = r"[^\s'\"(),;:=/<>]"
# Applied in this order. Exit statuses and names of dtypes stay, because another one may be another cause.
_VARYING = (
    (re.compile(r", which ends: .*?(?=; (?:[\w-]+: )?the |\Z)"), ""),  # the output in which a metric was not found
    (re.compile(rf"(?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? +)?\b(?:{_MONTHS})\w* +(?=\d)"), ""),
    (re.compile(r"(?<=/)(?:tmp[\w.]{6,}|(?=\w*[a-z]\w*[A-Z])\w{8,})(?=[/\s'\":,;)]|$)"), _SOME),
    (re.compile(r"\b(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b"), _SOME),
    (re.compile(rf"(?<!exited with )(?<!{_IN_WORD}){_IN_WORD}*\d{_IN_WORD}*"), lambda found: _token(found[0])),
    (re.compile(r"# ?(?:[KMGT]i?B|bytes?|[mun]?s|min|h|d)\b"), _SOME),
    (re.compile(rf"{_SOME}(?:(?:, | and |,|:|-){_SOME})+"), _SOME),
    (re.compile(r"(# \w+?)s\b"), r"\1"),  # 1 task, 2 tasks
)
_DTYPE = re.compile(r"(?:b?float|u?int|complex)\d+[.]?\Z")


def _token(text: str) -> str:
    return text if _DTYPE.match(text) else _SOME


@lru_cache(maxsize=4096)
def _general(message: str) -> str:
    for pattern, general in _VARYING:
        message = pattern.sub(general, message)
    return " ".join(message.split())


def cause(message: str, nodes: Collection[str] = ()) -> str:
    """Return the message with a mark instead of everything that varies between runs: equal for the same cause.

    The mark replaces numbers and words with digits (job IDs, PIDs, addresses, times, sizes), names of temporary files,
    and the names in `nodes`. The end of an output in which a metric was not found is left out.
    """
    if nodes:
        names = "|".join(re.escape(name) for name in sorted(nodes, key=len, reverse=True) if name)
        message = re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", _SOME, message) if names else message
    return _general(message)
