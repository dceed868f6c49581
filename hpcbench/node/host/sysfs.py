"""Reading what the kernel tells under /proc and /sys: of this machine, or of one laid out below another root."""

import glob
import os
from typing import List, NamedTuple, Optional

from .hardware import usable_cpus


class System(NamedTuple):
    """The CPUs that this process may run on, and where /proc and /sys are. Paths begin without a slash."""

    cpus: List[int]
    root: str = "/"

    def path(self, path: str) -> str:
        return os.path.join(self.root, path)

    def content(self, path: str) -> Optional[bytes]:
        """What a file holds; None where it is not there, or not for us."""
        try:
            with open(self.path(path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def text(self, path: str) -> Optional[str]:
        """The same in words, without blanks around it."""
        content = self.content(path)
        return None if content is None else content.decode("utf-8", "replace").strip()

    def lines(self, path: str) -> List[str]:
        return (self.text(path) or "").splitlines()

    def number(self, path: str) -> Optional[int]:
        """The content of a file that holds one whole number; None where it does not."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def matching(self, pattern: str) -> List[str]:
        """The paths that a pattern of the shell matches, in order."""
        found = glob.glob(os.path.join(glob.escape(self.root), pattern))
        return sorted(os.path.relpath(path, self.root) for path in found)


def this_system() -> System:
    return System(usable_cpus())


def counted(number: int, word: str) -> str:
    """`1 core`, `2 cores`."""
    return "%d %s%s" % (number, word, "" if number == 1 else "s")
