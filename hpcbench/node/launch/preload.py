"""Libraries that replace others by LD_PRELOAD (ld.so(8)): OpenMP runtimes and memory allocators."""

import os
import re
import subprocess
import sys
from typing import Any, List, Mapping, NamedTuple, Optional

_LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")  # not on every user's PATH
_USUAL = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CACHED = re.compile(r"\s(\S+) \(.*\) => (/.*)")  # a line of `ldconfig -p`
_MACHINE = slice(18, 20)  # of an ELF header: see elf(5)
_CLASS = slice(4, 6)


class Library(NamedTuple):
    """The file names of a library, and the packages that contain it."""

    names: List[str]
    packages: str


LIBRARIES = {
    "openmp": {
        "gnu": Library(["libgomp.so.1"], "libgomp1 of Debian, libgomp of conda-forge"),
        "intel": Library(["libiomp5.so"], "intel-openmp of pip or conda"),
        "llvm": Library(["libomp.so.5", "libomp.so"], "libomp5 of Debian, llvm-openmp of conda-forge"),
    },
    "allocator": {
        "jemalloc": Library(["libjemalloc.so.2"], "libjemalloc2 of Debian, jemalloc of conda-forge"),
        "tcmalloc": Library(
            ["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
            "libtcmalloc-minimal4 of Debian, gperftools of conda-forge",
        ),
    },
}


def found(parameters: Mapping[str, Any], environment: Mapping[str, str]) -> List[str]:
    """Return the paths of the requested libraries that exist here."""
    paths = [_path(library, environment) for library in _asked(parameters)]
    return [path for path in paths if path]


def missing(parameters: Mapping[str, Any], environment: Mapping[str, str]) -> Optional[str]:
    """Return a message about the first requested library that is missing; None if none is."""
    for library in _asked(parameters):
        if _path(library, environment) is None:
            folders = ", ".join(_folders(environment))
            values = (" or ".join(library.names), folders, library.packages)
            return "%s not found by ldconfig or in %s: install %s" % values
    return None


def _asked(parameters: Mapping[str, Any]) -> List[Library]:
    """Return the requested libraries. The allocator of glibc needs none."""
    asked = (several.get(parameters[name]) for name, several in LIBRARIES.items())
    return [library for library in asked if library]


def _path(library: Library, environment: Mapping[str, str]) -> Optional[str]:
    """Return the path of a library; None without one. It may be next to the Python (pip, conda)."""
    cached = _cache()
    for name in library.names:
        candidates = [os.path.join(folder, name) for folder in _folders(environment)]
        own = len(_listed(environment))
        for path in [*candidates[:own], *cached.get(name, []), *candidates[own:]]:
            if _is(name, path):
                return path
    return None


def _folders(environment: Mapping[str, str]) -> List[str]:
    return [*_listed(environment), os.path.join(sys.prefix, "lib"), *_USUAL]


def _listed(environment: Mapping[str, str]) -> List[str]:
    return [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]


def _cache() -> "dict[str, List[str]]":
    """Return the paths of each library in the linker's cache; empty without ldconfig, e.g. with musl."""
    paths: "dict[str, List[str]]" = {}
    program = next(filter(os.path.exists, _LDCONFIG), None)
    if program:
        output = subprocess.run([program, "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        for name, path in _CACHED.findall(output.decode("utf-8", "replace")):
            paths.setdefault(name, []).append(path)
    return paths


def _is(name: str, path: str) -> bool:
    """Return whether a file is the library for this machine, with a path that LD_PRELOAD does not split."""
    stem = name.split(".so")[0]
    try:
        with open(path, "rb") as file, open("/proc/self/exe", "rb") as ours:
            header, own = file.read(20), ours.read(20)
    except OSError:
        return False
    alike = header[:4] == b"\x7fELF" and header[_CLASS] == own[_CLASS] and header[_MACHINE] == own[_MACHINE]
    return alike and os.path.basename(os.path.realpath(path)).startswith(stem) and not re.search(r"[\s:]", path)
