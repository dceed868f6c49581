"""Choose the Python of an environment: the one that runs hpcbench, otherwise the newest suitable on the PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from hpcbench.config.recipe import Recipe
from hpcbench.errors import UserError

NEWEST, OLDEST = 20, 8  # minor versions of Python 3 to search for
_VERSION = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
_CAN_MAKE = "import ensurepip, venv"


@dataclass(frozen=True)
class Python:
    """A Python interpreter and its version, e.g. 3.11.7."""

    path: str
    version: str


def choose_python(name: str, recipe: Recipe, given: str | None) -> Python:
    """Return a Python that satisfies the recipe `name`; `given` is the interpreter of --python.

    Raise UserError if no suitable interpreter is found, or if it cannot create virtual environments.
    """
    if given is not None:
        python = probe(given)
        if not recipe.allows(python.version):
            raise UserError(
                f"'{name}' requires Python {recipe.python}, and this is {python.version}",
                where=f"--python {given}",
                hint=_which_would_do(recipe),
            )
    else:
        python = _first_that_fits(name, recipe)
    if _output(python.path, _CAN_MAKE) is None:
        minor = python.version.rpartition(".")[0]
        raise UserError(
            f"{python.path} cannot create virtual environments",
            hint=f"install the missing package (Debian, Ubuntu: apt-get install python{minor}-venv), or use --python",
        )
    return python


def _first_that_fits(name: str, recipe: Recipe) -> Python:
    for python in _candidates():
        if recipe.allows(python.version):
            return python
    raise UserError(
        f"Python for '{name}' not found on the PATH",
        hint=f"{_which_would_do(recipe)}; install one, load a module with one, or give its path with --python",
    )


def probe(given: str) -> Python:
    """Return the Python given by the user, a path or a program on the PATH. Raise UserError if it does not run."""
    python = _probed(given)
    if python is None:
        hint = "give a program on the PATH, or a file: --python /opt/python3.11/bin/python3"
        raise UserError(f"'{given}' is not a working Python", where="--python", hint=hint)
    return python


def _candidates() -> Iterator[Python]:
    for name in (sys.executable, *(f"python3.{minor}" for minor in range(NEWEST, OLDEST - 1, -1))):
        python = _probed(name)
        if python:
            yield python


def _probed(name: str) -> Python | None:
    path = shutil.which(name)
    version = _output(path, _VERSION) if path else None
    return Python(path, version) if path and version else None


def _output(python: str, code: str) -> str | None:
    """Return the output of a line of Python code; None if it fails."""
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _which_would_do(recipe: Recipe) -> str:
    fitting = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if recipe.allows(f"3.{minor}.0")]
    open_ended = bool(fitting) and fitting[-1] == f"3.{NEWEST}"
    if not fitting:
        return f"it works with Python {recipe.python}"
    return f"it works with Python {fitting[0]}" + (" and newer" if open_ended else f" to {fitting[-1]}")
