"""`hpcbench` as a process of its own, forked from a server that has imported what it needs.

Nine tenths of what a short call takes are imports, and compiling the code of nodes. That each command starts by itself
too is tested with `--help`.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from hpcbench import cli
from hpcbench.util import console

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.preloaded"])


def of_a_user() -> dict[str, str]:
    """The environment of the tests, without variables of Slurm, hpcbench and pytest, and without OpenMP variables, of
    which hpcbench warns."""
    removed = ("SLURM_", "HPCBENCH_", "PYTEST_", "OMP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    return {**kept, "COLUMNS": "200"}


def hpcbench(
    arguments: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    timeout: float,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would give of the installed command, in whose process `before` is called first."""
    with NamedTemporaryFile("w+") as output, NamedTemporaryFile("w+") as errors:
        given = (arguments, folder, dict(variables), (output.name, errors.name), before)
        process = SERVER.Process(target=_main, args=given)
        process.start()
        process.join(timeout)
        status = process.exitcode
        if status is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["hpcbench", *arguments], timeout, output.read(), errors.read())
        return subprocess.CompletedProcess(["hpcbench", *arguments], status, output.read(), errors.read())


def _main(
    arguments: Sequence[str],
    folder: Path,
    variables: dict[str, str],
    files: Sequence[str],
    before: Callable[[], None] | None,
) -> None:
    for number, file in enumerate(files, start=1):
        opened = os.open(file, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    make_consoles()
    sys.argv = ["hpcbench", *arguments]
    if before is not None:
        before()
    cli.main()


def make_consoles() -> None:
    """Create the imported consoles again, in place: they depend on the terminal and the environment."""
    known = console.out, console.err
    importlib.reload(console)
    for old, new in zip(known, (console.out, console.err), strict=True):
        vars(old).clear()
        vars(old).update(vars(new))
    console.out, console.err = known
