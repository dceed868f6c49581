"""The result of a search as a file next to its records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hpcbench.config.validation.findings import first_message
from hpcbench.core.files import write_whole
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths
from hpcbench.tuning.result import TuningResult
from hpcbench.util.bounded_read import content

_FINDINGS = TypeAdapter(list[TuningResult])


def save_results(paths: SweepPaths, results: Sequence[TuningResult]) -> None:
    """Write the results of a search next to its records."""
    write_whole(str(paths.findings), as_json(results) + "\n")


def save_schedule(paths: SweepPaths, case: str, schedule: Mapping[str, Any]) -> str:
    """Write the per-layer thread plan that a case has found; return its path in the workspace."""
    path = paths.results / "schedules" / f"{case}.json"
    write_whole(str(path), json.dumps(schedule, indent=1) + "\n")
    return str(path.relative_to(paths.results.parents[1]))


def as_json(results: Sequence[TuningResult]) -> str:
    """Return the results of a search as JSON. An infinite limit becomes null, like an unknown one."""
    return json.dumps(_named(results), indent=1, allow_nan=False)


def _named(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _named(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # otherwise JSON drops the names
        return _named(value._asdict())
    if isinstance(value, Mapping):
        return {name: _named(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_named(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def all_recommended(results: Sequence[TuningResult]) -> bool:
    """Return whether every context has a recommendation."""
    return all(finding.answer for finding in results)


def read_results(paths: SweepPaths) -> list[TuningResult] | None:
    """Return the results of a search; None if it has not ended. Raise UserError if the file is damaged."""
    try:
        return _FINDINGS.validate_json(content(paths.findings))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"the file cannot be read: {error.strerror}", where=str(paths.findings)) from error
    except ValueError as error:
        reason = first_message(error) if isinstance(error, ValidationError) else error
        raise UserError(
            f"the file is damaged: {reason}",
            where=str(paths.findings),
            hint=f"remove it, then run: hpcbench resume {paths.name}",
        ) from error
