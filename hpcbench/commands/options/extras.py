"""Packages that are installed only on request, because quotas on login nodes are small."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hpcbench.errors import UserError
from hpcbench.util.extras import install_hint
from hpcbench.util.text import in_list

if TYPE_CHECKING:
    from hpcbench.commands.options.outputs import Output

_PACKAGES = {  # by module
    "altair": "altair",
    "vl_convert": "vl-convert-python",
    "pyarrow": "pyarrow",
    "lightgbm": "lightgbm",
}
_CHARTS = ("altair", "vl_convert")
_REQUIRED = {"html": _CHARTS, "figures": _CHARTS, "parquet": ("pyarrow",), "predictor": ("lightgbm",)}
_EXTRAS = {"predictor": "predict"}  # that have the packages; the others are in `report`


def require_packages(outputs: Iterable[Output], figures: str | None) -> None:
    """Raise UserError if a package is missing that one of the documents requires, or the option `--figures`."""
    for output in outputs:
        require(output.format, output.option)
    if figures:
        require("figures", "--figures")


def require(document: str, asked_by: str) -> None:
    """Raise UserError if a package required for a kind of document is missing; an option or command asked for it."""
    missing = missing_packages(document)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        what = f"{asked_by} requires {in_list(missing)}, which {verb} not installed"
        raise UserError(what, hint=install_hint(_EXTRAS.get(document, "report")))


def missing_packages(document: str) -> list[str]:
    """Return the packages that a kind of document requires, e.g. `html`, and that are not installed."""
    return [_PACKAGES[each] for each in _REQUIRED.get(document, ()) if importlib.util.find_spec(each) is None]
