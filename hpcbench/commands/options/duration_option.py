"""Durations on the command line: a number with a unit."""

from __future__ import annotations

import re

import click

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.ASCII)


def seconds(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Return the seconds of an option such as `500ms` or `1.5s`. Fail if it is not a number above 0 with a unit."""
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS_S or not float(found[1]) > 0:
        what = f"'{text}' is not a time above 0 with a unit: {', '.join(_UNITS_S)}; e.g. 500ms"
        raise click.BadParameter(what, param=option)
    return float(found[1]) * _UNITS_S[found[2]]
