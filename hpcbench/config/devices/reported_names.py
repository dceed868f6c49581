"""Compare names of devices: what NVML, ROCm, lscpu and users write for the same device."""

from __future__ import annotations

import re

_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™]")
# Vendors and words that some sources leave out, and the clock and number of cores at the end of names of CPUs.
_WORDS = re.compile(r"\b(?:nvidia|amd|intel|geforce|graphics|cpu|processor|\d+-core)\b|@\s*[\d.]+\s*[gm]hz")
_SEPARATORS = re.compile(r"[^a-z0-9+.]+")


def plain(name: str) -> str:
    """Return a name in the form in which names are compared.

    For example `xeon gold 6248` for `Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz`.
    """
    text = _WORDS.sub(" ", _MARKS.sub(" ", name.lower()))
    return _SEPARATORS.sub(" ", text).strip() or name.lower().strip()
