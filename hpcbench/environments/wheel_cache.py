"""A cache of compiled wheels, whose key is everything that determines the result of compiling."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.recipe import Step
from hpcbench.environments.build_commands import clean_variables
from hpcbench.errors import UserError
from hpcbench.util.home import expanded

DIGITS = 16
MOST_COMPILERS = 8  # concurrent compilers, since login nodes are shared
# Variables that select compiler, headers and libraries, e.g. set by modules.
_COMPILING = re.compile(
    r"(?:CC|CXX|(?:C|CPP|CXX|LD)FLAGS|CMAKE_\w+|CPATH|C(?:PLUS)?_INCLUDE_PATH|(?:LD_)?LIBRARY_PATH|PKG_CONFIG_PATH"
    r"|CUDA_(?:HOME|PATH)|MPI_HOME|LOADEDMODULES)\Z"
)
_STANDARDS = ["98", "03", "0x", "11", "1y", "14", "1z", "17", "2a", "20", "2b", "23"]  # as in -std=c++17, oldest first


@dataclass(frozen=True)
class Target:
    """The target of compiled wheels: the ABI tag of the Python, and versions of packages of the environment."""

    tag: str  # e.g. cpython-311-x86_64-linux-gnu
    packages: Mapping[str, str]  # versions of packages that earlier steps name


def cache_folder() -> Path:
    """Return `hpcbench/wheels` in XDG_CACHE_HOME, by default `~/.cache`."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expanded(cache).absolute() / "hpcbench" / "wheels"


def compiler() -> str:
    """Return the C++ compiler: CXX of the user, otherwise g++."""
    return os.environ.get("CXX") or "g++"


def ingredients(step: Step, target: Target) -> dict[str, object]:
    """Return the cache key of a step: everything that determines the result of compiling it on this machine."""
    names = tuple(f"{name.upper().replace('-', '_')}_" for name in step.packages)
    variables = {name: value for name, value in os.environ.items() if _COMPILING.match(name) or name.startswith(names)}
    return {
        "step": step.model_dump(mode="json", exclude={"index"}),
        "against": dict(sorted(target.packages.items())),
        "python": target.tag,
        "platform": [platform.system(), platform.machine(), *platform.libc_ver()],
        "compiler": _version(compiler()),
        "variables": dict(sorted(variables.items())),
    }


def kept_wheels(key: Mapping[str, object]) -> list[Path]:
    """Return the cached wheels of a key; none if they are missing or damaged."""
    wheels = sorted(_folder(key).glob("*.whl"))
    return wheels if all(map(zipfile.is_zipfile, wheels)) else []


def keep(wheels: Path, key: Mapping[str, object], *, replace: bool) -> None:
    """Copy compiled wheels into the cache; unless `replace`, the wheels of an earlier concurrent build are kept.

    Errors of writing are ignored, since the next build can compile the wheels.
    """
    folder = _folder(key)
    with contextlib.suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as name:
            unfinished = Path(name) / folder.name
            shutil.copytree(wheels, unfinished)
            (unfinished / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")
            if kept_wheels(key) and not replace:  # another build may be installing them
                return
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.rename(folder)


def check_needs(step: Step, include: Path) -> None:
    """Raise UserError if a program or header for compiling is missing; `include` is the Python's include folder."""
    missing = [need for need in step.compile.needs if not _present(need, include)] if step.compile else []
    if missing:
        minor = include.name.removeprefix("python")
        raise UserError(
            f"compiling {' '.join(step.install)} needs {', '.join(missing)}, not found on this machine",
            hint=f"install it (Debian, Ubuntu: apt-get install g++ make python{minor}-dev), "
            "or load a module that has it; CXX names another C++ compiler",
        )


@contextmanager
def workshop(step: Step) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a temporary folder to compile in, and the variables with which pip uses its tools and compiler."""
    with tempfile.TemporaryDirectory(prefix="hpcbench-") as name:
        folder = Path(name)
        tools = folder / "tools"
        variables = {"PYTHONPATH": str(tools), "PATH": f"{tools / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
        cpus = min(len(os.sched_getaffinity(0)), MOST_COMPILERS)
        variables["MAKEFLAGS"] = clean_variables({}).get("MAKEFLAGS") or f"-j{cpus}"
        variables["CXX"] = str(_wrapper(folder / "c++", step.compile.cxx_standard if step.compile else None))
        yield folder, variables


def _wrapper(file: Path, standard: int | None) -> Path:
    """Write a wrapper of the C++ compiler that omits debug information and raises older C++ standards to `standard`.

    Debug information takes a third of the time of compiling Horovod for PyTorch, and does not change the code.
    """
    cases = "-g) continue ;;"
    if standard:
        names = _STANDARDS[: _STANDARDS.index(str(standard))]
        older = "|".join(f"-std=c++{name}|-std=gnu++{name}" for name in names)
        cases += f" {older}) word=-std=c++{standard} ;;"
    file.write_text(
        "#!/bin/sh\n"
        "for word; do\n"
        "  shift\n"
        f"  case $word in {cases} esac\n"
        '  set -- "$@" "$word"\n'
        "done\n"
        f'exec {compiler()} "$@"\n',
        encoding="utf-8",
    )
    file.chmod(0o755)
    return file


def _present(need: str, include: Path) -> bool:
    if need.endswith(".h"):
        return (include / need).exists()
    return shutil.which(compiler().split()[0] if need == "g++" else need) is not None


def _version(program: str) -> str:
    """Return the first line of the output of `PROGRAM --version`; `unknown` if it fails."""
    try:
        done = subprocess.run([*program.split(), "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.partition("\n")[0]


def _folder(key: Mapping[str, object]) -> Path:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:DIGITS]
    return cache_folder() / digest
