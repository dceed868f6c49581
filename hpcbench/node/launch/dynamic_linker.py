"""The libraries that this process has loaded, and their settings, from the dynamic linker and the kernel.

Environment variables show only what was requested.
"""

import ctypes
import os
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

_OPENMP = re.compile(r"(libgomp|libiomp5|libomp)[-.]")
_LARGE = 64 * 2**20  # bytes
RETAINING = " (retains)"  # suffix of the file name
_SPINS_FOR_EVER = 2**31 - 1  # milliseconds; kmp_get_blocktime returns it for `infinite`


class _Info(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


class _LoadedObject(ctypes.Structure):
    """The first fields of dl_phdr_info of dl_iterate_phdr(3)."""

    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]


def in_effect() -> Dict[str, Any]:
    """Return the file names of OpenMP and the allocator, and the wait policy; None for what is unknown.

    The allocator's name has the suffix RETAINING if glibc retains freed memory. The wait policy is `active` if idle
    OpenMP threads spin, `passive` if they sleep.
    """
    openmp = provider("GOMP_parallel")  # entry point of GCC, which Intel's and LLVM's runtimes have, too
    # Without a preloaded runtime, each library uses the one that it was linked with: there may be several.
    files = [openmp] if openmp else [path for path in mapped() if _OPENMP.match(os.path.basename(path))]
    return {
        "openmp": ", ".join(sorted({os.path.basename(path) for path in files})) or None,
        "allocator": _allocator(),
        "wait_policy": _wait_policy(),
    }


def provider(symbol: str) -> Optional[str]:
    """Return the file that provides a symbol in the global scope, before the libraries' own; None without one."""
    file = _file_of(symbol, ctypes.CDLL(None))
    if file != os.path.realpath("/proc/self/exe"):
        return file
    # A program at a fixed address, such as Debian's Python, has a stub of each function whose address it takes.
    return next((library for library in _libraries() if _defines(library, symbol)), file)


def _file_of(symbol: str, scope: Any) -> Optional[str]:
    """Return the file of a symbol, or of the program's stub for it; None if the scope has no such symbol."""
    function = getattr(scope, symbol, None)
    if function is None:
        return None
    info = _Info()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    found = dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(info))
    return os.path.realpath(os.fsdecode(info.file)) if found and info.file else None


def _defines(library: str, symbol: str) -> bool:
    """Return whether a loaded library has a symbol itself, not only the libraries that it needs."""
    try:
        scope = ctypes.CDLL(library, os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:  # the kernel's linux-vdso.so has no file
        return False
    return _file_of(symbol, scope) == library


def _libraries() -> List[str]:
    """Return the files of the loaded libraries in the order in which the dynamic linker searches them."""
    found: List[str] = []

    def visit(info: Any, _size: int, _data: Optional[int]) -> int:
        if info.contents.name:  # the program has none
            found.append(os.path.realpath(os.fsdecode(info.contents.name)))
        return 0

    visitor = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_LoadedObject), ctypes.c_size_t, ctypes.c_void_p)
    ctypes.CDLL(None).dl_iterate_phdr(visitor(visit), None)
    return found


def not_mapped(paths: Sequence[str]) -> Optional[str]:
    """Return the first of these libraries that this process has not loaded."""
    here = mapped()
    return next((path for path in paths if os.path.realpath(path) not in here), None)


def mapped() -> List[str]:
    """Return the names of the mappings of this process: files, and the kernel's names of others."""
    return list(dict.fromkeys(name for _, name in _mappings() if name))


def retains() -> bool:
    """Return whether glibc's allocator retains freed memory: whether the middle of a freed block is in the heap.

    The block is larger than any that glibc takes from the heap by default (32 MiB, DEFAULT_MMAP_THRESHOLD_MAX in
    malloc.c).
    """
    c_library: Any = ctypes.CDLL(None)
    c_library.malloc.restype = ctypes.c_void_p
    c_library.malloc.argtypes = [ctypes.c_size_t]
    c_library.free.argtypes = [ctypes.c_void_p]
    block = c_library.malloc(_LARGE)
    c_library.free(block)  # at once: the heap cannot shrink below a block that is in use
    return bool(block) and _part_of(block + _LARGE // 2) == "[heap]"


def _allocator() -> Optional[str]:
    file = provider("malloc")
    if file is None:
        return None
    is_glibc = file == provider("gnu_get_libc_version")
    return os.path.basename(file) + (RETAINING if is_glibc and retains() else "")


def _part_of(address: int) -> Optional[str]:
    """Return the name of the mapping at an address; None if no mapping contains it, or if the mapping has no name."""
    return next((name for addresses, name in _mappings() if address in addresses), None)


def _mappings() -> List[Tuple[range, Optional[str]]]:
    """Return address ranges and names from /proc/PID/maps, proc_pid_maps(5)."""
    with open("/proc/self/maps", errors="replace") as file:
        fields = [line.rstrip("\n").split(None, 5) for line in file]
    return [(range(*(int(end, 16) for end in each[0].split("-"))), each[5] if each[5:] else None) for each in fields]


def _wait_policy() -> Optional[str]:
    """Return `active` or `passive` from Intel's or LLVM's runtime; None for GNU's, which does not report it."""
    milliseconds = getattr(ctypes.CDLL(None), "kmp_get_blocktime", None)
    return {0: "passive", _SPINS_FOR_EVER: "active"}.get(milliseconds()) if milliseconds else None
