"""What a search has found as a file beside its records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hpcbench.config.yaml_document import first_message
from hpcbench.core.files import write_whole
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths
from hpcbench.tuning.result import Finding
from hpcbench.util.bounded_read import content

_FINDINGS = TypeAdapter(list[Finding])


def keep(paths: SweepPaths, findings: Sequence[Finding]) -> None:
    """Write what a search has found beside its records."""
    write_whole(str(paths.findings), as_json(findings) + "\n")


def save_schedule(paths: SweepPaths, case: str, schedule: Mapping[str, Any]) -> str:
    """Write the per-layer thread plan that a case has found; return its path in the workspace."""
    path = paths.results / "schedules" / f"{case}.json"
    write_whole(str(path), json.dumps(schedule, indent=1) + "\n")
    return str(path.relative_to(paths.results.parents[1]))


def as_json(findings: Sequence[Finding]) -> str:
    """What a search has found, each part by its name. JSON has no number for an infinite limit: it is null, as one that
    is not known."""
    return json.dumps(_named(findings), indent=1, allow_nan=False)


def _named(value: Any) -> Any:
    if is_dataclass(value):
        return {each.name: _named(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # else JSON makes a bare array of what has names
        return _named(value._asdict())
    if isinstance(value, Mapping):
        return {name: _named(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_named(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def all_answered(findings: Sequence[Finding]) -> bool:
    """Whether there is a best setting of each kind of work."""
    return all(finding.answer for finding in findings)


def read(paths: SweepPaths) -> list[Finding] | None:
    """What a search has found; None where it has not ended. Raises UserError where the file is damaged."""
    try:
        return _FINDINGS.validate_json(content(paths.findings))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(paths.findings)) from error
    except ValueError as error:
        told = first_message(error) if isinstance(error, ValidationError) else error
        raise UserError(f"is damaged: {told}", where=str(paths.findings), hint="remove it, and resume") from error
