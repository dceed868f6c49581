"""What runs on nodes, as one zipapp file: in any environment, and one file to open on a parallel file system."""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache
from pathlib import Path

from hpcbench.resources import PACKAGE

CARRIED = "hpcbench_carried"  # no name that could stand for the installed package
PARTS = ("monitor", "node")
_MAIN = f"import sys\n\nfrom {CARRIED}.node.cli import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's own: equal code gives an equal file


@lru_cache(maxsize=1)
def node_zipapp() -> bytes:
    """The content of node.pyz, the same bytes for the same code."""
    buffer = io.BytesIO()
    files = {"__main__.py": _MAIN.encode(), f"{CARRIED}/__init__.py": b""}
    for path in _sources():
        files[f"{CARRIED}/{path.relative_to(PACKAGE).as_posix()}"] = path.read_bytes()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _sources() -> list[Path]:
    return sorted(path for part in PARTS for path in (PACKAGE / part).rglob("*.py"))
