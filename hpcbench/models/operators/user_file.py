"""The name of an operator that a file of the user defines: `python:FILE`."""

from typing import Optional

SUFFIX = ".py"
PATTERN = r"^python:.*\S.*\.py$"
_PREFIX = "python:"


def name_of(path: str) -> str:
    """Return the name of the operator in a file: `python:ops/axpy.py`."""
    return _PREFIX + path


def file_of(name: Optional[str]) -> Optional[str]:
    """Return the file of an operator by its name; None for an operator of hpcbench. Raise ValueError without a path."""
    if name is None or not name.startswith(_PREFIX):
        return None
    path = name[len(_PREFIX) :]
    if not path.strip() or "\n" in path:
        raise ValueError("invalid operator '%s'; use python:FILE, e.g. python:axpy.py" % name)
    return path
