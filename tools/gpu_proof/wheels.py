"""Collect the wheels that a machine without a network lacks, up to a total size."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .bench import REPOSITORY

TABLES = ("pandas",)
FIGURES = ("altair", "vl-convert-python")
PREDICTIONS = ("lightgbm",)
TESTS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
GLIBC = (5, 12, 17, 24, 26, 27, 28, 31, 34)  # manylinux_2_N: pip matches N exactly
MIB = 2**20


class Group(NamedTuple):
    """Requirements that are collected together or not at all, and what they are for."""

    purpose: str
    requirements: Sequence[str]


def groups(dependencies: Sequence[str]) -> list[Group]:
    """Return hpcbench's dependencies by purpose, the most needed first."""

    def of(names: Sequence[str]) -> list[str]:
        return [each for each in dependencies if name_of(each) in names]

    core = [each for each in dependencies if name_of(each) not in (*TABLES, *FIGURES, *PREDICTIONS)]
    return [
        Group("sweeps and doctor", core),
        Group("tests", TESTS),
        Group("tables", of(TABLES)),
        Group("figures", of(FIGURES)),
        Group("predictions", of(PREDICTIONS)),
    ]


def collect(folder: Path, python: str, installed: frozenset[str], limit_mib: float) -> int:
    """Download the wheels into a folder; print their names, and what exceeds the limit. Return the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"error: '{folder}' is not empty", file=sys.stderr)
        return 2
    kept: dict[str, int] = {}
    missing: list[str] = []
    for group in groups(_dependencies()):
        lacking = [each for each in group.requirements if name_of(each) not in installed]
        if group.purpose == "figures" and missing:
            found: dict[Path, int] | None = None
        else:
            with tempfile.TemporaryDirectory() as scratch:
                found = _downloaded(Path(scratch), lacking, python, installed, kept)
                if found is not None and sum(kept.values()) + sum(found.values()) <= limit_mib * MIB:
                    for file, size in found.items():
                        shutil.move(file, folder / file.name)
                        kept[file.name] = size
                    continue
        missing += lacking
        print(f"not collected, for {group.purpose}: {', '.join(lacking)} (above {limit_mib:g} MiB, or not available)")
    print("".join(f"{size / MIB:8.2f} MiB  {name}\n" for name, size in kept.items()), end="")
    print(f"{sum(kept.values()) / MIB:8.2f} MiB in '{folder}'; must be installed on the machine: torch{_more(missing)}")
    print(f"Next: copy the repository and '{folder}' to the machine; there: tools/gpu-proof --wheels {folder}")
    return 0


def name_of(text: str) -> str:
    """Return the normalized name (PEP 503) at the start of a requirement, of a line of `pip list`, or of a wheel."""
    found = re.match(r"\s*([A-Za-z0-9._-]*[A-Za-z0-9])", text)
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else ""


def installed_in(text: str) -> frozenset[str]:
    """Return the packages in the output of `pip list` or `pip freeze`, or in a list of names."""
    return frozenset(filter(None, map(name_of, text.splitlines()))) - {"package"}


def download_options(python: str, machine: str) -> list[str]:
    """Return pip's options for a Python on Linux, which need not be the one that runs pip."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]
    options = ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    return [*options, *(word for name in platforms for word in ("--platform", name))]


def _downloaded(
    scratch: Path, requirements: Sequence[str], python: str, installed: frozenset[str], kept: Mapping[str, int]
) -> dict[Path, int] | None:
    """Return the new wheels with their sizes in bytes; if pip fails, print its message and return None."""
    if not requirements:
        return {}
    options = download_options(python, platform.machine())
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(scratch), *options, *requirements]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        return None
    present = {name_of(name.split("-")[0]) for name in kept} | installed
    files = [file for file in sorted(scratch.glob("*.whl")) if name_of(file.name.split("-")[0]) not in present]
    return {file: file.stat().st_size for file in files}


def _dependencies() -> list[str]:
    """Return the requirements of hpcbench, with those of figures, pages and predictions."""
    import tomllib  # Python 3.11: only this command needs it

    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    figures = [each for each in extras["report"] if name_of(each) in FIGURES]
    return [*project["dependencies"], *figures, *(each for each in extras["predict"] if name_of(each) in PREDICTIONS)]


def _more(missing: Sequence[str]) -> str:
    return "".join(f", {name_of(each)}" for each in missing)
