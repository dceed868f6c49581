"""Where the value of a parameter is written: in the experiment, or in a row of a CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hpcbench.config.matrix.axes import UNSET
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.yaml_document import Document


def where_written(name: str, document: Document) -> KeyPath:
    """Return the key path of the axis that sets a parameter, otherwise its path under `parameters`."""
    zipped = document.data.get("zip") or []
    axes: list[KeyPath] = [("matrix", name), *(("zip", index, name) for index in range(len(zipped)))]
    return next((path for path in axes if path in document.places), ("parameters", name))


def at_rows_of(point: Mapping[str, Any], document: Document) -> Document:
    """Return the document with errors in the rows of a point, instead of in the headers of the CSV files."""
    places, at = dict(document.places), []
    for rows in document.csv_rows:
        group = document.data["zip"][rows.group]
        for index, place in enumerate(rows.places):
            if all(_is_equal(cells[index], point.get(name, UNSET)) for name, cells in group.items()):
                paths = [("zip", rows.group, name) for name in group]
                at.append(place)
                places.update({path: place for path in paths if path in places})
                break
    return replace(document, places=places, at=tuple(at))


def _is_equal(cell: Any, value: Any) -> bool:
    return type(cell) is type(value) and bool(cell == value)
