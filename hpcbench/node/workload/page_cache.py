"""The data files in the page cache of Linux: read them into it, drop them from it, and see how much of them it has."""

import ctypes
import mmap
import os
from typing import Any, Callable, List, Optional, Sequence

import numpy

from ...core.training.page_cache import COLD, WARM, PageCache
from ..errors import Unsupported
from .data import Items

MOST_FILES = 1000  # whose resident pages are counted, evenly spaced among all
_CHUNK = 2**20


class DataFiles:
    """The files of the training items of this rank, kept in or out of the page cache during a measurement."""

    def __init__(self, items: Items, state: Optional[str], steps_per_epoch: int) -> None:
        self.files: Sequence[str] = items.inputs if isinstance(items.inputs, list) else ()
        self.state, self.steps_per_epoch = state, steps_per_epoch
        self.steps = self.most_steps = self.evictions = 0
        self.resident: List[float] = []
        self.is_first = True
        if state == COLD and not hasattr(os, "posix_fadvise"):
            raise Unsupported("page_cache: cold needs posix_fadvise, which this system does not have")
        if state == WARM:
            for file in self.files:
                _read(file)
        self.prepare()

    def counted(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """Return a step that is counted."""

        def run() -> Any:
            self.steps += 1
            return step()

        return run

    def prepare(self) -> None:
        """Drop the files from the page cache, if the case is cold, and see how much of them it has. Not timed."""
        if self.files and (self.state == COLD or self.is_first):
            if self.state == COLD:
                for file in self.files:
                    drop(file)
                self.evictions += 1
            if _is_shown(self.files[0]):
                self.resident.append(resident_fraction(self.files))
        self.is_first = False
        self.most_steps, self.steps = max(self.most_steps, self.steps), 0

    def summary(self) -> PageCache:
        """Return what was measured."""
        if not self.files:
            return PageCache(reason="an npz file is read into the memory of the process before the measurement")
        reason = None if self.resident else "the kernel shows the pages of a file only to those who may write it"
        return PageCache(max(self.resident, default=None), self.evictions, reason)

    def warnings(self) -> List[str]:
        """Return a warning if the case is cold, and files were read more than once between two evictions."""
        if self.state != COLD or self.most_steps <= self.steps_per_epoch:
            return []
        what = "an epoch has %d steps, and there were more between two evictions" % self.steps_per_epoch
        return ["%s: part of the files came from the page cache" % what]


def drop(file: str) -> None:
    """Ask the kernel to drop the pages of a file. Pages that are dirty, mapped or locked remain."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def _is_shown(file: str) -> bool:
    """Return whether mincore(2) shows the pages of a file to this process; otherwise it reports all as resident."""
    return os.stat(file).st_uid == os.geteuid() or os.access(file, os.W_OK)


def resident_fraction(files: Sequence[str]) -> float:
    """Return the fraction of the pages of files that are in the page cache, from at most MOST_FILES of them."""
    chosen = files[:: -(-len(files) // MOST_FILES)]
    counts = [_pages(file) for file in chosen]
    total = sum(pages for _, pages in counts)
    return sum(resident for resident, _ in counts) / total if total else 0.0


def _pages(file: str) -> Any:
    """Return how many pages of a file are resident, and how many it has, by mincore(2)."""
    size = os.path.getsize(file)
    if not size:
        return 0, 0
    count = -(-size // mmap.PAGESIZE)
    library = ctypes.CDLL(None, use_errno=True)
    vector = (ctypes.c_ubyte * count)()
    # A private mapping is writable for ctypes, which needs its address; no page is touched.
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_COPY) as mapped:
        start = ctypes.c_char.from_buffer(mapped)
        failed = library.mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), vector)
        del start
        if failed:
            raise OSError(ctypes.get_errno(), "mincore failed", file)
    return int((numpy.array(vector) & 1).sum()), count


def _read(file: str) -> None:
    with open(file, "rb", buffering=0) as opened:
        while opened.read(_CHUNK):
            pass
