"""The disk usage of folders."""

from __future__ import annotations

import os
from pathlib import Path

BLOCK = 512  # bytes of a block of st_blocks


def size_bytes(folder: Path) -> int:
    """Return the disk usage of the files in a folder, in bytes; 0 if it does not exist. Links are not followed."""
    total = 0
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * BLOCK
        except OSError:  # of another user, or just removed
            continue
    return total
