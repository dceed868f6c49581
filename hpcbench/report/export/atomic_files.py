"""Write files atomically: a file is complete or unchanged."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hpcbench.errors import UserError


def write_text(text: str, target: str) -> None:
    """Write UTF-8 text to a file, or to stdout for `-`. Raise UserError if the file cannot be written."""
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    with replacing(target) as part:
        part.write_text(text, encoding="utf-8")


def made_folder(folder: Path) -> None:
    """Create a folder. Raise UserError if it cannot be created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"directory '{folder}' cannot be created: {error.strerror}", hint="name another directory"
        ) from error


def check_target(target: str) -> None:
    """Raise UserError if the folder of a file is missing or read-only, or if the target is a folder."""
    path = Path(os.path.realpath(target))
    _refuse_folder(path, target)
    if not path.parent.is_dir():
        raise _not_written(target, os.strerror(errno.ENOENT))
    if (path.is_file() or not path.exists()) and not os.access(path.parent, os.W_OK):
        raise _not_written(target, os.strerror(errno.EACCES))


def _refuse_folder(path: Path, target: str) -> None:
    if path.is_dir():
        raise UserError(f"'{target}' is a directory", hint="name a file")


def _not_written(target: str, why: str) -> UserError:
    return UserError(f"'{target}' cannot be written: {why}", hint="name another file")


@contextlib.contextmanager
def replacing(target: str) -> Iterator[Path]:
    """Yield a temporary path that replaces `target` on success. Raise UserError if the file cannot be written."""
    path = Path(os.path.realpath(target))
    _refuse_folder(path, target)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
            yield path
            return
        yield part
        part.replace(path)
    except OSError as error:
        raise _not_written(target, error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
