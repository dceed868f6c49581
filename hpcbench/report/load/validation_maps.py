"""Load the maps of errors and variances of all validated cases, for figures."""

from __future__ import annotations

from collections.abc import Iterable

from hpcbench.analysis.cases.observations import ValidationMaps
from hpcbench.analysis.results import Results
from hpcbench.core.validation.result import HeatMap, Validation
from hpcbench.status.progress import Progress


def validation_maps(progresses: Iterable[Progress], results: Results) -> list[ValidationMaps]:
    """Return the maps of the worst run of each case with an error map, the largest ratio to the bound first."""
    worst: dict[tuple[str, str], Validation] = {}
    for progress in progresses:
        for run in progress.runs:
            found = run.record.validation if run.record else None
            if found is None or not _has_map(found):
                continue
            key = (progress.sweep.description["name"], run.planned.case_id)
            if key not in worst or _ratio(worst[key]) < _ratio(found):
                worst[key] = found
    maps = [
        ValidationMaps(
            results.name_in_title(case),
            _ratio(found),
            found.verdict,
            found.reason,
            found.error_map,
            found.variance_map if _is_matrix(found.variance_map) else None,
        )
        for _, case in results.cases.iterrows()
        if (found := worst.get((case["sweep"], case["case"]))) and found.error_map
    ]
    return sorted(maps, key=lambda each: -each.ratio)


def _has_map(found: Validation) -> bool:
    return found.worst is not None and _is_matrix(found.error_map)


def _is_matrix(found: HeatMap | None) -> bool:
    """Return whether a map has cells, and not more than its array has elements: a record may be damaged."""
    if found is None or len(found.shape) != 2 or not found.rows or not found.rows[0]:
        return False
    columns = len(found.rows[0])
    return all(len(row) == columns for row in found.rows) and (
        found.shape[0] >= len(found.rows) and found.shape[1] >= columns
    )


def _ratio(found: Validation) -> float:
    return found.worst.ratio if found.worst else 0.0
