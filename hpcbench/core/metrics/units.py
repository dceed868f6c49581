"""Convert between units of one quantity: times, rates and their inverse, SI and binary prefixes."""

import itertools
import re
from functools import lru_cache
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .error import MetricError

# Nanoseconds per unit. A lower time is better; a higher rate, for example it/s, is better.
TIMES = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "min": 6 * 10**10}
TIMES["h"] = 60 * TIMES["min"]
TIMES["day"] = 24 * TIMES["h"]

_ALIASES = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    "days": "day",
    **dict.fromkeys(("iter", "iters", "its", "iteration", "iterations"), "it"),
    **dict.fromkeys(("byte", "bytes", "Byte", "Bytes"), "B"),
    **dict.fromkeys(("bits", "Bit", "Bits"), "bit"),
    **dict.fromkeys(("FLOPs", "flop", "flops", "Flop", "Flops"), "FLOP"),
}
_PREFIXES = {"n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6}
_PREFIXES.update({"G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18})
_PREFIXES.update({letter + "i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)})
_PER_SECOND = re.compile(r"(?P<amount>.*?)(?P<base>FLOPS|flops|Flops|bps)\Z")  # GFLOPS, Mbps

_QUANTITIES = ("B", "bit", "FLOP")  # whose multiples are units without a time
_AFTER_NUMBER = re.compile(
    r"[ \t]?(?P<unit>(?:[kKMGT] )?[^\W\d_]{1,20}/[^\W\d_]{1,20}|[^\W\d_]{1,20})(?![\w/]|[ \t]*[=:])"
)

Convert = Callable[[float], float]


def converter(found: Optional[str], unit: str) -> Convert:
    """Return the function that converts numbers in the unit `found` to `unit`.

    Numbers in `s/it` are inverted for `it/s`. Raise MetricError if the two are not units of one quantity.
    """
    this, other = _parsed(found or ""), _parsed(unit)
    factor = _ratio(this, other)
    if factor is not None:
        scale = factor
        return lambda value: value * scale
    factor = _ratio((this[1], this[0]), other) if this[1] and other[1] else None
    if factor is None:
        raise MetricError("'%s' cannot be converted to '%s'" % (found, unit))
    inverse = factor
    return lambda value: inverse / value if value else float("nan")


def short_unit(unit: str) -> str:
    """Return a unit with the short names of its words: `images/s` for `images/sec`, `GFLOP/s` for `GFLOPS`."""
    above, below = _parsed(unit)
    return _ALIASES.get(above, above) + ("/" + _ALIASES.get(below, below) if below else "")


def unit_after(text: str, end: int) -> str:
    """Return the unit that follows a number which ends at `end`; empty if the text has none there."""
    found = _AFTER_NUMBER.match(text, end)
    return found.group("unit") if found and _is_unit(found.group("unit")) else ""


@lru_cache(maxsize=1000)
def _is_unit(word: str) -> bool:
    above, below = _parsed(word)
    if below or above in TIMES or above in _ALIASES:
        return True
    return any(base in _QUANTITIES for base, _ in _split(above))


def differ(units: Sequence[str]) -> bool:
    """Return whether two of the units are different units of one quantity, such as `MB/s` and `GB/s`."""
    for first, second in itertools.combinations(units, 2):
        try:
            if converter(first, second)(2.0) != 2.0:
                return True
        except MetricError:  # of different quantities
            continue
    return False


def inverse(unit: str) -> Optional[str]:
    """Return `s/it` for `it/s`; None for a unit that is not a ratio."""
    above, slash, below = unit.partition("/")
    return "%s/%s" % (below, above) if slash and above and below else None


def _parsed(unit: str) -> Tuple[str, str]:
    """Return the numerator and the denominator of a unit; the denominator of `s` is empty."""
    short = _PER_SECOND.match(unit)
    if short:
        return short.group("amount") + ("bit" if short.group("base") == "bps" else "FLOP"), "s"
    above, _, below = unit.strip().partition("/")
    return above, below


def _ratio(found: Tuple[str, str], wanted: Tuple[str, str]) -> Optional[float]:
    """Return the factor from the unit found to the wanted one, or None if they are not units of one quantity."""
    above, below = _of_words(found[0], wanted[0]), _of_words(found[1], wanted[1])
    return above / below if above is not None and below is not None else None


def _of_words(found: str, wanted: str) -> Optional[float]:
    found, wanted = _ALIASES.get(found, found), _ALIASES.get(wanted, wanted)
    if found == wanted:
        return 1.0
    if found in TIMES or wanted in TIMES:
        return TIMES[found] / TIMES[wanted] if found in TIMES and wanted in TIMES else None
    sizes: Dict[str, Dict[str, float]] = {each: dict(_split(each)) for each in (found, wanted)}
    common = [base for base in sizes[found] if base in sizes[wanted]]
    return sizes[found][common[0]] / sizes[wanted][common[0]] if common else None


def _split(unit: str) -> List[Tuple[str, float]]:
    """Return each reading of a unit as base and size: 1e6 bits for `Mbit`, 1e6 B for `MB`, or the word itself."""
    readings = [(_singular(unit), 1.0)]
    for prefix, size in sorted(_PREFIXES.items(), key=lambda each: -len(each[0])):  # Ki before K
        word = unit[len(prefix) :].lstrip()  # a space in `k samples`
        base = _ALIASES.get(word, _singular(word))
        if unit.startswith(prefix) and base:
            readings.append((base, size))
    readings += [("bit", 8 * size) for base, size in readings if base == "B"]
    return readings


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
