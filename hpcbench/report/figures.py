"""Figures as files: SVG, PNG and PDF, without a browser and without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import vl_convert

from hpcbench.report.charts.base import Figure
from hpcbench.report.charts.theme import AS_FILE, IN_PAPER, Place, Theme, config
from hpcbench.report.files import made_folder, replacing

PLACES = {"screen": AS_FILE, "paper": IN_PAPER}
_SCALE = 2.0  # of a PNG's pixels
_PAPER_SCALE = 4.0


def specification(figure: Figure, place: Place) -> dict[str, Any]:
    """The chart in Vega-Lite, with its config."""
    spec: dict[str, Any] = figure.draw(place).to_dict()
    spec["config"] = config(place)
    if place.titled:
        spec["title"] = {"text": figure.title}
    spec["description"] = figure.description
    return spec


def write(figures: Iterable[Figure], folder: Path, formats: Iterable[str], theme: Theme) -> list[Path]:
    """A file for each figure and format, named after the figure. Raises UserError where one cannot be written."""
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
