"""Tiny packages that pip really builds and installs, from a folder: no network, no compiler."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hpcbench.environments.build import build as build_environment
from hpcbench.environments.interpreters import choose_python
from hpcbench.environments.locations import EnvironmentDir, environment_dir
from hpcbench.environments.recipes import recipe_file
from hpcbench.store.workspace import Workspace

# The build backend of each package. It writes a line to LOG for every wheel it makes, obeys FAIL_IF, a file that makes
# it fail, and WAIT_FOR, a file that it waits for after it has written the line.
BACKEND = """
import os, time, zipfile

NAME, VERSION, LOG = {name!r}, {version!r}, {log!r}

def build_wheel(folder, config_settings=None, metadata_directory=None):
    if os.path.exists(os.environ.get("FAIL_IF", "")):
        raise SystemExit("the backend was told to fail")
    with open(LOG, "a") as log:
        log.write("%s %s\\n" % (NAME, os.environ.get("FLAVOUR", "")))
    deadline = time.monotonic() + 100
    while os.environ.get("WAIT_FOR") and not os.path.exists(os.environ["WAIT_FOR"]):
        if time.monotonic() > deadline:
            raise SystemExit("nobody came")
        time.sleep(0.05)
    info = "%s-%s.dist-info" % (NAME, VERSION)
    wheel = "%s-%s-py3-none-any.whl" % (NAME, VERSION)
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        archive.writestr(NAME + ".py", "VERSION = %r" % VERSION)
        archive.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (NAME, VERSION))
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return wheel
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"build", "cli"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.pip)


@dataclass
class Bench:
    """A workspace, a folder of packages that pip finds, and what was built from them."""

    workspace: Workspace
    packages: Path
    log: Path

    def package(self, name: str, version: str = "1.0") -> None:
        """Offer a source distribution."""
        files = {
            "backend.py": BACKEND.format(name=name, version=version, log=str(self.log)),
            "pyproject.toml": PROJECT,
            "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        }
        with tarfile.open(self.packages / f"{name}-{version}.tar.gz", "w:gz") as archive:
            for file, text in files.items():
                entry = tarfile.TarInfo(f"{name}-{version}/{file}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))

    def recipe(self, name: str, *steps: dict[str, Any], imports: tuple[str, ...] = ("tiny",), **keys: Any) -> None:
        """Write a recipe into the workspace."""
        folder = self.workspace.root / "configs" / "environments"
        folder.mkdir(parents=True, exist_ok=True)
        content = {"description": "for a test", "python": ">=3.8", "imports": [*imports], "steps": [*steps], **keys}
        (folder / f"{name}.yaml").write_text(json.dumps(content))

    def read(self, name: str) -> Any:
        return recipe_file(self.workspace, name).read()

    def place(self, name: str) -> EnvironmentDir:
        return environment_dir(self.workspace, name)

    @property
    def built(self) -> list[str]:
        """The wheels that were made, by package and flavour, in order."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A workspace with packages `tiny` and `other` of version 1.0, and caches of its own."""
    for name in ("workspace", "packages", "cache"):
        (tmp_path / name).mkdir()
    for name in [name for name in os.environ if name.startswith(("PIP_", "HPCBENCH_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "packages"))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Bench(Workspace(tmp_path / "workspace"), tmp_path / "packages", tmp_path / "built.log")
    made.package("tiny")
    made.package("other")
    return made


@pytest.fixture
def reported() -> list[tuple[int, int, str]]:
    """What a build told of its steps."""
    return []


@pytest.fixture(scope="session")
def quick_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that makes a virtual environment by copying one, which takes a tenth of the time."""
    folder = tmp_path_factory.mktemp("quick")
    subprocess.run([sys.executable, "-m", "venv", folder / "template"], check=True)
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "-m venv" ] && exec cp -a "{folder}/template/." "$3"\nexec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    return str(python)


@pytest.fixture
def build(bench: Bench, reported: list[tuple[int, int, str]], quick_python: str) -> Callable[..., Any]:
    """Build an environment of the bench by its recipe."""

    def run(name: str, python: str | None = quick_python, **options: Any) -> Any:
        recipe = bench.read(name)
        chosen = choose_python(name, recipe, python)
        return build_environment(bench.place(name), recipe, chosen, lambda *step: reported.append(step), **options)

    return run
