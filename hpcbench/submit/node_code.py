"""The node code as one zipapp file: runs in any environment, one file to open on a parallel file system."""

from __future__ import annotations

import io
import zipfile
from functools import lru_cache
from pathlib import Path

from hpcbench.resources import PACKAGE

_MAIN = "import sys\n\nfrom hpcbench_node.cli import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's own: equal code gives an equal file


@lru_cache(maxsize=1)
def node_zipapp() -> bytes:
    """The content of node.pyz, the same bytes for the same code."""
    buffer = io.BytesIO()
    files = {"__main__.py": _MAIN.encode()}
    for path in _sources():
        files[f"hpcbench_node/{path.relative_to(PACKAGE / 'node').as_posix()}"] = path.read_bytes()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _sources() -> list[Path]:
    return sorted((PACKAGE / "node").rglob("*.py"))
