"""Packages that are installed only on request, because quotas on login nodes are small."""

from __future__ import annotations

import importlib.util

from hpcbench.errors import UserError

_PACKAGES = {"altair": "altair", "vl_convert": "vl-convert-python", "pyarrow": "pyarrow"}  # by module
_CHARTS = ("altair", "vl_convert")
_REQUIRED = {"html": _CHARTS, "figures": _CHARTS, "parquet": ("pyarrow",)}


def require_packages(**options: str | None) -> None:
    """Raise UserError if a package is missing that one of these options requires, e.g. html="page.html"."""
    for name in [name for name, value in options.items() if value]:
        missing = [_PACKAGES[module] for module in _REQUIRED[name] if importlib.util.find_spec(module) is None]
        if missing:
            what = (
                f"--{name} requires {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed"
            )
            raise UserError(what, hint="pip install 'hpcbench-dl[report]'")
