"""Tables as files: CSV and Parquet."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from hpcbench.errors import UserError


def write_csv(frame: pd.DataFrame, target: str) -> None:
    """CSV to a file, or to stdout where `target` is `-`. Raises UserError where the file cannot be written."""
    if target == "-":
        frame.to_csv(sys.stdout, index=False)
        return
    with _replacing(target) as part:
        frame.to_csv(part, index=False)


def write_parquet(frame: pd.DataFrame, target: str) -> None:
    """Parquet to a file. Raises UserError where the file cannot be written."""
    plain = frame.copy()
    for name in plain.columns:  # a tag may hold a number here and a text there, which no column type does
        if plain[name].dtype == object and len({type(value) for value in plain[name].dropna()}) > 1:
            plain[name] = plain[name].map(str, na_action="ignore")
    with _replacing(target) as part:
        plain.to_parquet(part, index=False)


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[Path]:
    """A name to write under; the file takes its own name only when it is whole."""
    path = Path(os.path.realpath(target))
    if path.is_dir():
        raise UserError("cannot be written: it is a folder", where=target)
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror or error}", where=target) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
