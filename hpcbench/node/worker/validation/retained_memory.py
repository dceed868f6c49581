"""Freed memory that stays in the process during a validation, which allocates large arrays again and again."""

import contextlib
import ctypes
import os
from typing import Iterator, Mapping

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # parameters of mallopt(3)
_NEVER = -1
# The defaults of glibc, and the threshold that it reaches by itself in a process with large arrays.
_BEFORE = {_TRIM_THRESHOLD: 2**26, _MMAP_MAX: 65536}


@contextlib.contextmanager
def retained(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Retain freed memory while the context is open, and release it at its end.

    Otherwise glibc returns each large array to Linux, which clears the memory page by page for the next one: two
    thirds of the CPU time of a gradient of 16 million weights. Other C libraries, and processes whose environment
    configures malloc, remain as they are.
    """
    library = ctypes.CDLL(None)
    is_configured = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in environment)
    if is_configured or not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _NEVER)
    try:
        yield
    finally:
        for parameter, value in _BEFORE.items():
            library.mallopt(parameter, value)
        library.malloc_trim(ctypes.c_size_t(0))
