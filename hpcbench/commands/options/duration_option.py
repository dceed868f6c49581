"""Durations on the command line: a number with a unit."""

from __future__ import annotations

import re

import click

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")


class DurationType(click.ParamType):
    """A duration such as `500ms` or `1.5s`, as seconds."""

    name = "duration"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds; fail if it is not a number above 0 with a unit."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(value.strip())
        if found is None or found[2] not in _UNITS_S or not float(found[1]) > 0:
            self.fail(f"'{value}' is not a time above 0 with a unit: {', '.join(_UNITS_S)}; e.g. 500ms", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]
