"""Which libraries this process has really got: as the dynamic linker tells, not as an environment variable asks."""

import ctypes
import os
import re
from typing import Any, Dict, List, Optional, Sequence

_OPENMP = re.compile(r"(libgomp|libiomp5|libomp)[-.]")
_SPINS_FOR_EVER = 2**31 - 1  # milliseconds, which kmp_get_blocktime gives for `infinite`


class _Info(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def in_effect() -> Dict[str, Any]:
    """Of OpenMP and the allocator the file, by its name; whether OpenMP's threads spin or sleep while they wait, where
    its runtime tells."""
    openmp = provider("GOMP_parallel")  # what compilers call: Intel's and LLVM's runtimes have it, too
    # One that was not preloaded belongs to the libraries that were linked with it: there may be several.
    files = [openmp] if openmp else [path for path in mapped() if _OPENMP.match(os.path.basename(path))]
    allocator = provider("malloc")
    return {
        "openmp": ", ".join(sorted({os.path.basename(path) for path in files})) or None,
        "allocator": os.path.basename(allocator) if allocator else None,
        "wait_policy": _wait_policy(),
    }


def provider(symbol: str) -> Optional[str]:
    """The file from which all libraries get a function, since it comes before those they were linked with; None where
    each gets it from its own."""
    everything: Any = ctypes.CDLL(None)
    function = getattr(everything, symbol, None)
    if function is None:
        return None
    info = _Info()
    everything.dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found = everything.dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info))
    return os.path.realpath(os.fsdecode(info.file)) if found and info.file else None


def not_mapped(paths: Sequence[str]) -> Optional[str]:
    """The first of these libraries that is not in this process."""
    here = mapped()
    return next((path for path in paths if os.path.realpath(path) not in here), None)


def mapped() -> List[str]:
    """The files in this process's memory (proc_pid_maps(5))."""
    with open("/proc/self/maps", errors="replace") as file:
        fields = [line.split(None, 5) for line in file]
    return list(dict.fromkeys(each[5].rstrip("\n") for each in fields if len(each) == 6))


def _wait_policy() -> Optional[str]:
    """GNU's runtime does not tell."""
    milliseconds = getattr(ctypes.CDLL(None), "kmp_get_blocktime", None)
    return {0: "passive", _SPINS_FOR_EVER: "active"}.get(milliseconds()) if milliseconds else None
