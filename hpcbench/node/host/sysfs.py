"""Files of the kernel under /proc and /sys, of this machine or of a copy below another root."""

import glob
import os
from typing import List, NamedTuple, Optional

from .hardware import usable_cpus

CPUFREQ = "sys/devices/system/cpu/cpu%d/cpufreq/"  # the frequency of a CPU


class System(NamedTuple):
    """The CPUs that this process may run on, and the root of /proc and /sys. Paths have no leading slash."""

    cpus: List[int]
    root: str = "/"

    def path(self, path: str) -> str:
        """Return the path below the root."""
        return os.path.join(self.root, path)

    def content(self, path: str) -> Optional[bytes]:
        """Return the content of a file; None if it cannot be read."""
        try:
            with open(self.path(path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def text(self, path: str) -> Optional[str]:
        """Return the content of a file as stripped text; None if it cannot be read."""
        content = self.content(path)
        return None if content is None else content.decode("utf-8", "replace").strip()

    def lines(self, path: str) -> List[str]:
        """Return the lines of a file; none if it cannot be read."""
        return (self.text(path) or "").splitlines()

    def number(self, path: str) -> Optional[int]:
        """Return the content of a file that has one integer, otherwise None."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def matching(self, pattern: str) -> List[str]:
        """Return the paths that match a shell pattern, sorted."""
        found = glob.glob(os.path.join(glob.escape(self.root), pattern))
        return sorted(os.path.relpath(path, self.root) for path in found)


def this_system() -> System:
    """Return the System of this machine."""
    return System(usable_cpus())


def counted(number: int, word: str) -> str:
    """Return `1 core` or `2 cores`."""
    return "%d %s%s" % (number, word, "" if number == 1 else "s")
