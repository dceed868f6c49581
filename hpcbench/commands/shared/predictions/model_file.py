"""The file of fitted models: its default name, and its text."""

from __future__ import annotations

from pathlib import Path

from hpcbench.errors import UserError
from hpcbench.predict.no_model_file import WRITE_ONE, no_model_file

DEFAULT_FILE = "fleet.json"  # in the workspace
MOST_BYTES = 256 * 2**20  # of a file; the model of one kind of operator has up to 0.4 MB


def text_of(path: Path) -> str:
    """Return the text of a model file. Raise UserError if it is missing, larger than MOST_BYTES, or not text."""
    if path.is_dir():
        raise no_model_file(str(path), "it is a directory")
    if not path.is_file():
        raise UserError("model file not found", where=str(path), hint=WRITE_ONE)
    if path.stat().st_size > MOST_BYTES:
        raise no_model_file(str(path), f"it is larger than {MOST_BYTES // 2**20} MB")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise no_model_file(str(path)) from error
