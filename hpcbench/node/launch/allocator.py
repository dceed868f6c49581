"""glibc's allocator, set to retain the memory that a program frees.

Otherwise the memory of large tensors returns to the kernel at each step, and is mapped and zeroed again page by page
(mallopt(3), M_MMAP_MAX and M_TRIM_THRESHOLD).
"""

from typing import Any, Mapping, Optional

from ...core.variables.worker import RETAIN


def missing(parameters: Mapping[str, Any]) -> Optional[str]:
    """Return why the requested allocator is not available; None if it is, or if none is requested."""
    if parameters["allocator"] != RETAIN:
        return None
    import ctypes

    if hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        return None
    return "allocator: %s requires glibc, and this Python uses another C library" % RETAIN
