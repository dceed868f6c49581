"""`hpcbench` as a process of its own, forked from a server that has imported what it needs.

Two thirds of what a short call takes are imports. That each command starts by itself too is tested with `--help`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from hpcbench import cli

SERVER = multiprocessing.get_context("forkserver")
# What commands import, not they themselves: their consoles look at the terminal and the environment when they are made.
SERVER.set_forkserver_preload(
    [
        "hpcbench.analysis.studies.comparison",
        "hpcbench.analysis.cases.latency",
        "hpcbench.analysis.studies.reporting_rules",
        "hpcbench.cli",
        "hpcbench.collect.table",
        "hpcbench.doctor.terminal",
        "hpcbench.environments.build",
        "hpcbench.report.export.atomic_files",
        "hpcbench.report.terminal.results",
        "hpcbench.submit.slurm_executor",
        "hpcbench.submit.create_sweep",
    ]
)


def hpcbench(
    arguments: Sequence[str], folder: Path, variables: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` would give of the installed command."""
    with NamedTemporaryFile("w+") as output, NamedTemporaryFile("w+") as errors:
        given = (arguments, folder, dict(variables), (output.name, errors.name))
        process = SERVER.Process(target=_main, args=given)
        process.start()
        process.join(timeout)
        status = process.exitcode
        if status is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["hpcbench", *arguments], timeout, output.read(), errors.read())
        return subprocess.CompletedProcess(["hpcbench", *arguments], status, output.read(), errors.read())


def _main(arguments: Sequence[str], folder: Path, variables: dict[str, str], files: Sequence[str]) -> None:
    for number, file in enumerate(files, start=1):
        opened = os.open(file, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.argv = ["hpcbench", *arguments]
    cli.main()
