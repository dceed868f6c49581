"""Build an environment: a virtual environment, then the steps of its recipe. Finished steps are not repeated."""

from __future__ import annotations

import datetime
import errno
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

import hpcbench
from hpcbench.config.recipe import Recipe, Step
from hpcbench.environments import wheel_cache
from hpcbench.environments.build_commands import ProgramError, Programs, clean_variables
from hpcbench.environments.build_state import (
    BUILT,
    Built,
    read_marker,
    state_of,
    write_json,
    write_marker,
)
from hpcbench.environments.interpreters import Python
from hpcbench.environments.locations import EnvironmentDir
from hpcbench.errors import UserError
from hpcbench.util.disk_usage import size_bytes

Report = Callable[[int, int, str], None]  # number of the step, number of steps, current activity
MOST_LETTERS = 70  # length of the package names of a step in a message

_FACTS = """
import json, sysconfig
from importlib import metadata
packages = {found.metadata["Name"]: found.version for found in metadata.distributions()}
tag, include = sysconfig.get_config_var("SOABI"), sysconfig.get_paths()["include"]
print(json.dumps({"packages": packages, "tag": tag, "include": include}))
"""


def build(place: EnvironmentDir, recipe: Recipe, python: Python, report: Report, *, fresh: bool = False) -> Built:
    """Build an environment, or continue an interrupted build, unless it is complete and up to date; return its marker.

    With `fresh`, always rebuild and recompile it. Raise UserError if it cannot be built; finished steps are kept.
    """
    try:
        with place.locked() as lock:
            marker = read_marker(place)
            if marker and state_of(place, recipe) == BUILT and not fresh:
                return marker
            return _Builder(place, recipe, python, Programs(place.log, lock), report, fresh).build()
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise UserError(
            f"'{place.name}' cannot be built: {'the disk is full' if full else error.strerror or error}",
            where=str(error.filename or place.folder),
            hint="set HPCBENCH_ENVS to another directory for environments",
        ) from error


def remove(place: EnvironmentDir) -> int:
    """Remove an environment that hpcbench built; return the freed bytes. Raise UserError for any other folder."""
    _check_ours(place)  # before the lock, which would create a file
    with place.locked():
        _check_ours(place)  # another process may have removed it
        freed = size_bytes(place.folder)
        _remove_folder(place)
        return freed


def _check_ours(place: EnvironmentDir) -> None:
    if not place.exists:
        what = "was not created by hpcbench" if place.folder.exists() else "is not built"
        hint = "hpcbench env list shows the environments"
        raise UserError(f"the environment '{place.name}' {what}", where=str(place.folder), hint=hint)


def _remove_folder(place: EnvironmentDir) -> None:
    """Remove a folder, or the contents of a linked one; an interrupted removal leaves no finished steps."""
    write_json(place.progress, {})
    place.marker.unlink(missing_ok=True)
    for path in place.folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != place.progress:
            path.unlink()
    place.progress.unlink()
    if not place.folder.is_symlink():
        place.folder.rmdir()


@dataclass
class _Builder:
    place: EnvironmentDir
    recipe: Recipe
    python: Python
    programs: Programs
    report: Report
    fresh: bool

    def build(self) -> Built:
        start = time.monotonic()
        done = 0 if self.fresh else self._done_before()
        if done == 0:
            self._clear()
            self._report(1, f"making {self.place.folder} with Python {self.python.version}")
            self._run(self.python.path, "-m", "venv", self.place.folder, what="making the virtual environment")
        self._note(max(done, 1))
        for number, step in enumerate(self.recipe.steps, 2):
            if number > done:
                self._install(number, step)
                self._note(number)
        self._import()
        return self._declare(time.monotonic() - start)

    @property
    def _last(self) -> int:
        return len(self.recipe.steps) + 2

    def _report(self, number: int, what: str) -> None:
        self.report(number, self._last, what)

    def _done_before(self) -> int:
        """Return the number of finished steps of an interrupted build of the same recipe with the same Python."""
        try:
            noted = json.loads(self.place.progress.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0
        same = {"recipe": self.recipe.digest, "python": self.python.version}
        return int(noted.get("done", 0)) if same.items() <= noted.items() and self.place.python.exists() else 0

    def _note(self, done: int) -> None:
        noted: dict[str, object] = {"recipe": self.recipe.digest, "python": self.python.version, "done": done}
        write_json(self.place.progress, noted)

    def _clear(self) -> None:
        if self.place.exists:
            self._report(1, f"removing the earlier {self.place.folder}")
            _remove_folder(self.place)
        elif self.place.folder.exists() and any(self.place.folder.iterdir()):
            raise UserError(
                "the directory exists, but hpcbench did not create it",
                where=str(self.place.folder),
                hint="move it away, or set HPCBENCH_ENVS to another directory for environments",
            )
        self.place.folder.mkdir(exist_ok=True)
        self._note(0)

    def _run(self, *command: str | Path, what: str, variables: Mapping[str, str] | None = None) -> None:
        self.programs.run(command, variables or {}, what)

    def _pip(self, *arguments: str | Path, what: str, variables: Mapping[str, str] | None = None) -> None:
        self._run(self.place.python, "-m", "pip", *arguments, what=what, variables=variables)

    def _pip_install(self, *arguments: str | Path, what: str, variables: Mapping[str, str] | None = None) -> None:
        """Install into the environment, overriding `target` and `prefix` of the user's pip.conf."""
        into = ("--target=", f"--prefix={self.place.folder}")
        self._pip("install", "--progress-bar=off", *into, *arguments, what=what, variables=variables)

    def _install(self, number: int, step: Step) -> None:
        named = _shortened(", ".join(step.install))
        if step.compile:
            self._install_compiled(number, step, named)
            return
        what = f"installing {named}"
        self._report(number, what)
        try:
            self._pip_install(*step.install, what=what, variables=step.env)
        except ProgramError as error:
            if step.index is None or not error.lacks_a_package:
                raise
            self._pip_install(*step.install, f"--extra-index-url={step.index}", what=what, variables=step.env)

    def _install_compiled(self, number: int, step: Step, named: str) -> None:
        facts = self._facts()
        key = wheel_cache.ingredients(step, wheel_cache.Target(facts.tag, self._named_before(step, facts.packages)))
        kept = [] if self.fresh else wheel_cache.kept_wheels(key)
        if kept:
            self._report(number, f"installing {named}, compiled before")
            self._install_wheels(kept, named)
            return
        wheel_cache.check_needs(step, facts.include)
        self._report(number, f"compiling {named}, which may take several minutes")
        with wheel_cache.workshop(step) as (folder, variables):
            tools = step.compile.tools if step.compile else []
            if tools:
                what = f"installing the build dependencies of {named}"
                self._pip_install(*tools, f"--target={folder / 'tools'}", "--prefix=", what=what)
            # pip's cache key is the name of a compiled wheel, without the versions that it was compiled against.
            how = ("--no-cache-dir", "--no-deps", "--no-build-isolation", f"--no-binary={','.join(step.packages)}")
            into = ("wheel", "--progress-bar=off", f"--wheel-dir={folder / 'wheels'}")
            self._pip(*into, *how, *step.install, what=f"compiling {named}", variables={**variables, **step.env})
            if step.pinned:  # otherwise the key does not determine the version
                wheel_cache.keep(folder / "wheels", key, replace=self.fresh)
            self._install_wheels(sorted((folder / "wheels").glob("*.whl")), named)

    def _install_wheels(self, files: list[Path], named: str) -> None:
        self._pip_install("--no-deps", "--no-index", *files, what=f"installing {named}")

    def _named_before(self, step: Step, packages: Mapping[str, str]) -> dict[str, str]:
        """Return the versions of packages that earlier steps name, without their dependencies, which are not pinned."""
        earlier = self.recipe.steps[: self.recipe.steps.index(step)]
        return {name: packages[name] for each in earlier for name in each.packages if name in packages}

    def _import(self) -> None:
        modules = ", ".join(self.recipe.imports)
        self._report(self._last, f"importing {modules}")
        variables = {name: value for step in self.recipe.steps for name, value in step.env.items()}
        try:
            self._run(self.place.python, "-c", f"import {modules}", what=f"importing {modules}", variables=variables)
        except ProgramError as error:
            error.hint = error.hint or f"hpcbench env build {self.place.name} --force rebuilds it"
            raise

    def _declare(self, seconds: float) -> Built:
        built = Built(
            name=self.place.name,
            recipe=self.recipe.digest,
            python=self.python.version,
            packages=self._facts().packages,
            built_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            seconds=round(seconds, 1),
            size_bytes=size_bytes(self.place.folder),
            hpcbench_version=hpcbench.__version__,
        )
        write_marker(self.place, built)
        return built

    def _facts(self) -> _Facts:
        command = [str(self.place.python), "-c", _FACTS]
        try:
            done = subprocess.run(
                command, env=clean_variables({}), capture_output=True, text=True, timeout=300, check=True
            )
        except subprocess.SubprocessError as error:
            hint = f"hpcbench env build {self.place.name} --force rebuilds it"
            raise UserError("the Python of the environment does not run", where=command[0], hint=hint) from error
        found = json.loads(done.stdout)
        named = sorted(found["packages"].items())
        packages: dict[str, str] = {canonicalize_name(name): version for name, version in named if name}
        return _Facts(packages, found["tag"] or "", Path(found["include"]))


@dataclass(frozen=True)
class _Facts:
    packages: dict[str, str]  # canonical name to version
    tag: str
    include: Path


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 4].rstrip(', ')} ..."
