"""Pack the code for compute nodes into one zipapp file, which is one file to open on a parallel file system.

Python saves no bytecode for a zipapp, so each start of Python would compile all imported modules. The file therefore
has the bytecode for hpcbench's own Python, too; other versions compile the source.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from hpcbench.core.rank_command import PROBE
from hpcbench.util.package_data import PACKAGE, shipped

CARRIED = "hpcbench_carried"  # not the name of the installed package
PARTS = ("core", "models", "node")
_OF_PROBE = "hpcbench_probe/"
# Without bytecode: loading a framework takes seconds, and some frameworks need the source of what they compile.
ADAPTERS = f"{CARRIED}/node/frameworks/"
# Must parse on any Python, including 3.6 and older. The message begins like those of the job script (core/status.py).
_MAIN = f"""import sys

if sys.version_info < (3, 8):
    found = "%d.%d.%d" % sys.version_info[:3]
    sys.exit("hpcbench: gave up: Python 3.8 or newer is required; %s is %s" % (sys.executable, found))

from {CARRIED}.node.cli import main

sys.exit(main())
"""
_COMPILE = ("-s", "-m", "compileall", "-q", "-b", "--invalidation-mode", "unchecked-hash")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # constant, so that equal code gives an equal file


@lru_cache(maxsize=1)
def node_zipapp() -> bytes:
    """Return the content of node.pyz: the same bytes for the same code."""
    files = {"__main__.py": _MAIN.encode(), f"{CARRIED}/__init__.py": b""}
    for path in _sources():
        files[f"{CARRIED}/{path.relative_to(PACKAGE).as_posix()}"] = path.read_bytes()
    files |= {_OF_PROBE + path.name: path.read_bytes() for path in sorted((shipped("probe") / _OF_PROBE).glob("*.py"))}
    files |= _bytecode({name: source for name, source in files.items() if not name.startswith(ADAPTERS)})
    probe = {name: files.pop(name) for name in list(files) if name.startswith(_OF_PROBE)}
    return _zipped(files | {PROBE: _zipped(probe)})


def digest_of_sources() -> str:
    """Return the SHA-256 of the names and contents of the sources in node.pyz, in hexadecimal digits."""
    found = hashlib.sha256()
    for path in _sources():
        content = path.read_bytes()
        found.update(f"{path.relative_to(PACKAGE).as_posix()} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def is_of_this_code(file: Path) -> bool:
    """Return whether a node.pyz has the same sources as this hpcbench; the bytecode may differ."""
    try:
        return _checksums(file) == _checksums(io.BytesIO(node_zipapp()))
    except (zipfile.BadZipFile, zlib.error):
        return False


def _checksums(file: Path | io.BytesIO) -> dict[str, int]:
    with zipfile.ZipFile(file) as archive:
        found = {entry.filename: entry.CRC for entry in archive.infolist() if entry.filename.endswith(".py")}
        return found | (_checksums(io.BytesIO(archive.read(PROBE))) if PROBE in archive.namelist() else {})


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _sources() -> list[Path]:
    return sorted(path for part in PARTS for path in (PACKAGE / part).rglob("*.py"))


def _bytecode(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the bytecode of each source, valid for any modification time: https://peps.python.org/pep-0552/.

    A new process compiles it, because its bytecode is reproducible; that of a long-running process is not.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, source in sources.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source)
        words = [sys.executable, *_COMPILE, "-s", folder, folder]
        subprocess.run(words, env={"PYTHONHASHSEED": "0"}, check=True, stdin=subprocess.DEVNULL)
        return {f"{name}c": Path(folder, f"{name}c").read_bytes() for name in sources}
