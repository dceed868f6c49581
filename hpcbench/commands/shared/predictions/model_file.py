"""The file of fitted models: its default name, and its text."""

from __future__ import annotations

from pathlib import Path

from hpcbench.errors import UserError

DEFAULT_FILE = "fleet.json"  # in the workspace
FIT = "hpcbench predictor fit"
_MAKE_ONE = f"make one: {FIT}"


def text_of(path: Path) -> str:
    """Return the text of a model file. Raise UserError if it is missing or not text."""
    if not path.is_file():
        raise UserError("model file not found", where=str(path), hint=_MAKE_ONE)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"not a model file of {FIT}", where=str(path), hint=_MAKE_ONE) from error
