"""What runs on nodes, as one zipapp file: in any environment, and one file to open on a parallel file system.

A zipapp keeps no bytecode, and each run starts Python at least once, which would compile all that it imports. So
the file carries the bytecode for hpcbench's own Python, too: one of another version compiles the source in its place.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from hpcbench.util.package_data import PACKAGE

CARRIED = "hpcbench_carried"  # no name that could stand for the installed package
PARTS = ("core", "models", "node")
# They load a framework, which takes seconds anyway, and some frameworks look for the source of what they compile.
ADAPTERS = f"{CARRIED}/node/frameworks/"
# Read by whatever Python starts it: the words of Python 3.6 and older, too.
_MAIN = f"""import sys

if sys.version_info < (3, 8):
    found = "%d.%d" % sys.version_info[:2]
    sys.exit("hpcbench: gave up: %s is Python %s, and hpcbench needs 3.8 or newer" % (sys.executable, found))

from {CARRIED}.node.cli import main

sys.exit(main())
"""
_COMPILE = ("-s", "-m", "compileall", "-q", "-b", "--invalidation-mode", "unchecked-hash")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's own: equal code gives an equal file


@lru_cache(maxsize=1)
def node_zipapp() -> bytes:
    """The content of node.pyz, the same bytes for the same code."""
    buffer = io.BytesIO()
    files = {"__main__.py": _MAIN.encode(), f"{CARRIED}/__init__.py": b""}
    for path in _sources():
        files[f"{CARRIED}/{path.relative_to(PACKAGE).as_posix()}"] = path.read_bytes()
    files |= _bytecode({name: source for name, source in files.items() if not name.startswith(ADAPTERS)})
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def is_of_this_code(file: Path) -> bool:
    """Whether a node.pyz carries the same sources as this hpcbench, with the bytecode of whichever Python."""
    try:
        return _checksums(file) == _checksums(io.BytesIO(node_zipapp()))
    except zipfile.BadZipFile:
        return False


def _checksums(file: Path | io.BytesIO) -> dict[str, int]:
    with zipfile.ZipFile(file) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist() if entry.filename.endswith(".py")}


def _sources() -> list[Path]:
    return sorted(path for part in PARTS for path in (PACKAGE / part).rglob("*.py"))


def _bytecode(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """For each source its bytecode, valid whatever the time of the source: https://peps.python.org/pep-0552/.

    A new process makes the same of the same code; one that has run for a while does not.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source)
        words = [sys.executable, *_COMPILE, "-s", folder, folder]
        subprocess.run(words, env={"PYTHONHASHSEED": "0"}, check=True, stdin=subprocess.DEVNULL)
        return {f"{name}c": Path(folder, f"{name}c").read_bytes() for name in sources}
