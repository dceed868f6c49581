"""The parameter `operator`: a name, or a mapping with a Python file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import BeforeValidator

from hpcbench.errors import nearest
from hpcbench.models.operators.user_file import PATTERN, SUFFIX, file_of, name_of

EXAMPLE = "e.g. operator: {python: axpy.py}"
_FILE = {
    "type": "object",
    "properties": {
        "python": {"type": "string", "pattern": r"\S.*\.py$", "description": "Python file, relative to the workspace"}
    },
    "required": ["python"],
    "additionalProperties": False,
}


def json_schema(known: Collection[str]) -> dict[str, Any]:
    """Return the JSON schema of the parameter, given the names of hpcbench's operators."""
    return {"anyOf": [{"enum": [*known, None]}, {"type": "string", "pattern": PATTERN}, _FILE]}


def check(value: str, known: Collection[str]) -> None:
    """Raise ValueError if a value is neither one of the known operators nor a Python file."""
    path = file_of(value)
    if path is not None and not path.endswith(SUFFIX):
        raise ValueError(f"'{path}' is not a Python file; the name must end with {SUFFIX}")
    if path is not None or value in known:
        return
    if value.endswith(".py"):
        raise ValueError(f"unknown operator '{value}'; did you mean operator: {{python: {value}}}?")
    raise ValueError(f"unknown operator '{value}'; {nearest(value, known)}")


def _name(value: Any) -> Any:
    """Return the name of an operator: `python:axpy.py` for {python: axpy.py}; other values unchanged."""
    if not isinstance(value, dict):
        return value
    path = value.get("python")
    if len(value) != 1 or not isinstance(path, str):
        raise ValueError(f"'operator' must be a name or a Python file, {EXAMPLE}")
    return name_of(path)


OperatorName = Annotated[str | None, BeforeValidator(_name)]
