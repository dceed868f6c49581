"""Figures as SVG, PNG and PDF files, rendered without a browser or network."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import vl_convert
from altair.utils.schemapi import debug_mode

from hpcbench.report.charts.components import Figure, shortened
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, OF_PAGE, PlotSize, Theme, config
from hpcbench.report.export.atomic_files import made_folder, replacing
from hpcbench.util.text import printable

PLACES = {"screen": AS_FILE, "paper": IN_PAPER}
_SCALE = 2.0  # pixels of a PNG per pixel of the chart
_PAPER_SCALE = 4.0
_SYMBOL = 5  # width of the symbol of a legend entry and of the gap, in characters
_OF_COLOUR = ("category", "color", "fill", "range", "stroke", "value")  # Vega-Lite keys with colours
_LONGEST_TITLE, _LINE = 200, 80  # characters


def specification(figure: Figure, place: PlotSize) -> dict[str, Any]:
    """Return the chart as a Vega-Lite specification with its config.

    The chart is not validated by Altair, which would double the time: its schema does not depend on user input.
    """
    with debug_mode(False):
        spec: dict[str, Any] = figure.draw(place).to_dict(validate=False)
    spec["config"] = config(place)
    if not place.fluid:  # the page lays out its legends itself
        longest = max(map(len, _in_legends(spec)), default=0)
        spec["config"]["legend"]["columns"] = max(1, place.characters // (longest + _SYMBOL))
    if place.titled:
        spec["title"] = {"text": textwrap.wrap(shortened(figure.title, _LONGEST_TITLE), _LINE)}
    spec["description"] = printable(figure.description)
    return _in_colours_of_page(spec) if place.fluid else spec


def _in_colours_of_page(part: Any, key: str = "") -> Any:
    """Return the specification with CSS variables of the page, for dark mode, as colours; data are unchanged."""
    if isinstance(part, dict):
        return {name: each if name == "datasets" else _in_colours_of_page(each, name) for name, each in part.items()}
    if isinstance(part, list):
        return [_in_colours_of_page(each, key) for each in part]
    return OF_PAGE.get(part, part) if key in _OF_COLOUR else part


def _in_legends(spec: Any) -> Iterator[str]:
    """Yield the names in the legends of a specification."""
    if isinstance(spec, list):
        for each in spec:
            yield from _in_legends(each)
    elif isinstance(spec, dict):
        if isinstance(spec.get("legend"), dict):
            yield from filter(lambda name: isinstance(name, str), spec.get("scale", {}).get("domain", ()))
        for each in spec.values():
            yield from _in_legends(each)


def write(figures: Iterable[Figure], folder: Path, formats: Iterable[str], theme: Theme) -> list[Path]:
    """Write `ID.FORMAT` per figure and format; return the paths. Raise UserError if a file cannot be written."""
    place = PLACES[theme]
    made_folder(folder)
    writers: dict[str, Callable[[dict[str, Any]], bytes]] = {
        "svg": lambda spec: vl_convert.vegalite_to_svg(spec).encode(),
        "png": lambda spec: vl_convert.vegalite_to_png(spec, scale=_PAPER_SCALE if theme == "paper" else _SCALE),
        "pdf": lambda spec: vl_convert.vegalite_to_pdf(spec),
    }
    written = []
    for figure in figures:
        spec = specification(figure, place)
        for name in formats:
            path = folder / f"{figure.id}.{name}"
            with replacing(str(path)) as part:
                part.write_bytes(writers[name](spec))
            written.append(path)
    return written
