"""The packages of each environment, listed by its Python if this runs on the local machine.

For environments with modules, shell lines or containers, the first run in them lists the packages.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from hpcbench.core.files import write_whole
from hpcbench.core.run_spec import COMMAND
from hpcbench.environments.resolve import Resolved, brings_python
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import content
from hpcbench.util.fast_json import decoded
from hpcbench.util.package_data import PACKAGE

ANSWER_S = 10.0
AT_ONCE = 8

_TOO_OLD = 3  # exit status
# Runs the code in the first argument, unless Python is too old. Must parse on any Python.
_UNLESS_TOO_OLD = f"""import sys
if sys.version_info < (3, 8):
    sys.stdout.write("%d.%d.%d" % sys.version_info[:3])
    sys.exit({_TOO_OLD})
exec(sys.argv[1])
"""

Packages = dict[str, Any]  # output of core/packages.py


def ask(environments: Mapping[str, Resolved]) -> dict[str, Packages]:
    """Return the installed packages by environment, if its Python lists them on this machine within ANSWER_S.

    Raise UserError if a Python is too old for the node code.
    """
    here = {name: found for name, found in environments.items() if not brings_python(found.environment)}
    questions = [(found.python, _variables(name, found)) for name, found in here.items()]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda question: _asked(*question), questions)
    return {name: answer for name, answer in zip(here, answers, strict=True) if answer is not None}


def keep(paths: SweepPaths, found: Mapping[str, Packages]) -> None:
    """Write the packages of environments to a sweep. Raise OSError if they cannot be written."""
    for name, packages in found.items():
        text = json.dumps({"told_by": platform.node(), **packages}, indent=1) + "\n"
        write_whole(str(paths.packages(name)), text, durable=True)


def read(paths: SweepPaths, environment: str) -> Packages | None:
    """Return the packages of an environment of a sweep; None if they were not recorded."""
    try:
        document = decoded(content(paths.packages(environment)))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and isinstance(document.get("packages"), dict) else None


def _variables(name: str, found: Resolved) -> tuple[tuple[str, str], ...]:
    """Return the variables as in a job script for an environment (see `foreign` in submit/script.py)."""
    foreign = () if name == COMMAND else ("PYTHONPATH", "PYTHONHOME")
    kept = {variable: value for variable, value in os.environ.items() if variable not in foreign}
    return tuple({**kept, **found.environment.env}.items())


@lru_cache(maxsize=64)
def _asked(python: str, variables: tuple[tuple[str, str], ...]) -> Packages | None:
    question = (PACKAGE / "core" / "packages.py").read_text(encoding="utf-8")
    try:
        done = subprocess.run(
            [python, "-c", _UNLESS_TOO_OLD, question],
            cwd="/",  # -c also imports from the working directory
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ANSWER_S,
            check=False,
        )
        packages: Packages | None = None if done.returncode else decoded(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if done.returncode == _TOO_OLD:
        what = f"Python 3.8 or newer is required; {python} is {done.stdout.decode(errors='replace')}"
        raise UserError(what, hint="set `python` of the environment in the site file to a newer Python")
    return packages
