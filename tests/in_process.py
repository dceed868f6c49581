"""`hpcbench` in the process of the test, which starts nothing: for messages, options and tables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from hpcbench import cli
from tests import forked


def hpcbench(arguments: Sequence[str], folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Return what `subprocess.run` would of the installed command."""
    command = ["hpcbench", *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("sys.argv", command)
        for name in os.environ.keys() - variables.keys():
            patch.delenv(name)
        for name, value in variables.items():
            patch.setenv(name, value)
        status: object = 0
        with CliRunner().isolation() as (output, errors, _):
            forked.make_consoles()
            try:
                cli.main()
            except SystemExit as end:
                status = end.code
            sys.stdout.flush()
    forked.make_consoles()
    assert isinstance(status, int)
    return subprocess.CompletedProcess(command, status, output.getvalue().decode(), errors.getvalue().decode())
