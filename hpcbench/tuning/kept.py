"""What a search has found as a file beside its records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from pydantic import TypeAdapter, ValidationError

from hpcbench.config.loading import first_message
from hpcbench.contents import content
from hpcbench.errors import UserError
from hpcbench.node.keeping import write_whole
from hpcbench.tuning.finding import Finding
from hpcbench.workspace import SweepPaths

_FINDINGS = TypeAdapter(list[Finding])


def keep(paths: SweepPaths, findings: Sequence[Finding]) -> None:
    """Write what a search has found beside its records."""
    write_whole(str(paths.findings), json.dumps([asdict(each) for each in findings], indent=1) + "\n")


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
