"""Render the report page as one self-contained HTML file, with styles, scripts, charts and data.

Texts from data are escaped by Jinja or set as text content by scripts. The Content Security Policy of the page allows
only the scripts and styles whose hashes it names, and no connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import hpcbench
from hpcbench.analysis.cases.labels import cell
from hpcbench.report.html.page_model import Cell, Column, Page
from hpcbench.util.package_data import shipped
from hpcbench.util.text import printable

SCRIPTS = ("page.js", "values.js", "sheet.js", "table.js", "charts.js", "commands.js")
_WHOLE_IN_JAVASCRIPT = 2**53
_IN_SCRIPTS = {ord(character): f"\\u{ord(character):04x}" for character in "<>&"}


def render(page: Page) -> str:
    """Return the HTML of a page; it depends only on the page and the installed Vega."""
    folder = shipped("templates") / "report"
    style = (folder / "page.css").read_text(encoding="utf-8")
    scripts = ["\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)]
    if page.figures:
        scripts.append(_vega())
    return _template(folder).render(
        page=page,
        version=hpcbench.__version__,
        policy=_policy(style, scripts),
        style=style,
        scripts=scripts,
        data=_data(page),
    )


@cache
def _template(folder: Path) -> jinja2.Template:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    return templates.get_template("page.html.j2")


def _printable(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _vega() -> str:
    """Return the bundle of Vega, Vega-Lite and vegaEmbed of vl-convert, which sets `window.vegaEmbed`."""
    import vl_convert  # slow import, deferred until needed

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return re.sub(r"</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)  # equal to </ in a JavaScript string


def _policy(style: str, scripts: list[str]) -> str:
    """Return the Content Security Policy, which allows only inline content; images only for saving charts."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(page: Page) -> str:
    """Return the data of the scripts as JSON: the table, and the charts with their shared datasets."""
    columns = page.table.columns
    specs, datasets = _charts(page)
    data = {
        "columns": [vars(column) for column in columns],
        "count": len(page.table.rows),
        "values": [_column([row[place] for row in page.table.rows], each) for place, each in enumerate(columns)],
        "of": page.table.of,
        "file": page.table.file,
        "charts": specs,
        "datasets": datasets,
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII, so without U+2028 and U+2029
    return text.translate(_IN_SCRIPTS)


def _charts(page: Page) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return specifications by figure, and each dataset once. Raise ValueError if datasets differ but share a name."""
    specs: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Any] = {}
    for figure in page.figures:
        own = figure.spec.get("datasets", {})
        for name, rows in own.items():
            if datasets.setdefault(name, rows) != rows:
                raise ValueError(f"two different datasets are called {name}")
        spec = {key: value for key, value in figure.spec.items() if key not in ("$schema", "datasets")}
        specs[figure.id] = {"spec": {**spec, "description": figure.description}, "datasets": list(own)}
    return specs, datasets


def _column(cells: Sequence[Cell], column: Column) -> dict[str, Any]:
    """Return the values of a column (`of`); if many repeat, the distinct ones, with the index of each row (`at`)."""
    values = [_value(cell, column) for cell in cells]
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    if len(places) > len(values) / 2:
        return {"of": values}
    return {"of": list(places), "at": [places[value] for value in values] if len(places) > 1 else None}


def _value(value: Cell, column: Column) -> Cell:
    """Return a JSON value: None for NaN and infinity, text for integers that JavaScript would round."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if column.kind == "text":
        return cell(value)
    return str(value) if isinstance(value, int) and abs(value) > _WHOLE_IN_JAVASCRIPT else value
