"""C++ extensions of PyTorch that a user's file builds: a folder for them, and what a node needs.

torch.utils.cpp_extension writes into TORCH_EXTENSIONS_DIR. There it creates a file `lock` during a build, and waits as
long as the file exists: also for a build that was killed. Therefore the processes of a node import the file one after
the other, and remove what a killed build has left.
"""

import fcntl
import glob
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager
from typing import Iterator, Optional

from ..errors import Unsupported

_VARIABLE = "TORCH_EXTENSIONS_DIR"


@contextmanager
def shared_folder(source: str) -> Iterator[None]:
    """Set TORCH_EXTENSIONS_DIR for the import of a file, unless it is set, with the programs of this Python first.

    The folder is in the temporary directory of the node: only this user can write to it, and each Python has its own.
    """
    own = _private(os.path.join(tempfile.gettempdir(), "hpcbench-extensions-%d" % os.getuid()))
    key = "\n".join((os.path.abspath(source), sys.executable, sys.version))
    folder = os.path.join(own, hashlib.sha256(key.encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + before  # which may contain ninja
    is_set = _VARIABLE in os.environ
    with open(os.path.join(folder, ".hpcbench-lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_set:
            os.environ[_VARIABLE] = folder
            for left in glob.glob(os.path.join(glob.escape(folder), "*", "lock")):
                os.unlink(left)
        try:
            yield
        finally:
            os.environ["PATH"] = before
            if not is_set:
                del os.environ[_VARIABLE]


def what_is_missing() -> Optional[str]:
    """Return what this node lacks to build a C++ extension, if the program uses them; None if nothing."""
    if "torch.utils.cpp_extension" not in sys.modules:
        return None
    compiler = os.environ.get("CXX", "c++")
    folders = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    for program in (compiler, "ninja"):
        if shutil.which(program, path=folders) is None:
            return "'%s', which builds C++ extensions, was not found in PATH" % program
    return None


def _private(folder: str) -> str:
    """Return a folder that only this user can write to. Raise Unsupported if others can."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise Unsupported("%s is not a directory of this user alone; remove it, or set TMPDIR" % folder)
    return folder
