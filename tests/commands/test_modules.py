"""Environments that modules bring, with each of the two implementations, as Debian packages them."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

OTHERS_PROFILE = {"lmod": "modules.sh", "environment-modules": "lmod.sh"}
MODULE = """#%Module1.0
prepend-path PATH {bin}
setenv OMP_OF_MODULE {name}
"""
# Puts the site's own profile and the package over the system's files, for this process and its children alone.
OVER_THE_SYSTEM = """
set -e
mount -t overlay overlay -o "lowerdir=$2/usr:/usr" /usr
mount -t overlay overlay -o "lowerdir=$1:$2/etc:/etc" /etc
[ ! -e "$3" ] || mount --bind /dev/null "$3"
shift 3
exec "$@"
"""


@pytest.fixture(params=sorted(OTHERS_PROFILE))
def with_modules(command_line, module_packages, request, tmp_path):
    """The command line on a machine with one implementation, started in a shell that has no `module` yet."""
    if os.geteuid() != 0:
        pytest.skip("one of two packages that exclude each other can be put over the other by root only")
    programs = tmp_path / "our python" / "bin"
    programs.mkdir(parents=True)
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python3").chmod(0o755)
    for name in ("first/1.0", "python/3.11"):
        file = tmp_path / "modulefiles" / name
        file.parent.mkdir(parents=True)
        file.write_text(MODULE.format(bin=f"{{{programs}}}" if name != "first/1.0" else "/no/such", name=name))
    profile = tmp_path / "etc" / "profile.d" / "zz-site.sh"
    profile.parent.mkdir(parents=True)
    profile.write_text(f"export MODULEPATH={tmp_path}/modulefiles:$MODULEPATH\n")
    hidden = Path("/etc/profile.d", OTHERS_PROFILE[request.param])
    folders = [tmp_path / "etc", module_packages / request.param, hidden]
    command_line.within = ["unshare", "--mount", "bash", "-c", OVER_THE_SYSTEM, "bash", *map(str, folders)]
    return command_line


def sweep(command_line, modules, **arguments):
    site = command_line.site(environments={"pytorch": {"modules": modules}})
    return command_line("sweep", command_line.experiment(parameters={"task": "inference"}), "--site", site, **arguments)


@pytest.mark.torch
def test_a_case_runs_with_the_python_that_a_module_brings(with_modules):
    sweep(with_modules, ["first", "python/3.11"])
    (record,) = with_modules.records()
    assert record["status"] == "completed"
    assert record["environment"]["LOADEDMODULES"] == "first/1.0:python/3.11"
    assert record["environment"]["OMP_OF_MODULE"] == "python/3.11"
    assert record["outside"] == {}, "a module of the environment has set it"


@pytest.mark.parametrize("modules", [["nope/1.2"], ["first", "nope/1.2", "python"]])
def test_a_module_that_does_not_exist_is_named_with_what_module_says(with_modules, modules):
    done = sweep(with_modules, modules, expect=1)
    (record,) = with_modules.records()
    assert record["status"] == "failed"
    assert record["error"]["message"].startswith("module load nope/1.2 failed: ")
    assert "nope/1.2" in record["error"]["message"].partition(": ")[2]
    assert any("nope/1.2" in line for line in record["error"]["last_lines"])
    assert "module load nope/1.2 failed" in done.stderr


def test_a_module_command_of_the_shell_is_taken_as_it_is(with_modules):
    """It is a function that a login shell exports, here one that loads nothing."""
    with_modules.environment["BASH_FUNC_module%%"] = "() { echo the shells own; return 1; }"
    sweep(with_modules, ["python"], expect=1)
    (record,) = with_modules.records()
    assert record["error"]["message"] == "module load python failed: the shells own"


def test_a_load_that_fails_with_status_0_is_a_failure_with_a_fake_module(command_line, tmp_path):
    """Like Environment Modules 3.2, which no supported Debian release contains."""
    (tmp_path / "init").mkdir()
    words = "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for"
    (tmp_path / "init" / "bash").write_text(f"module() {{ echo \"{words} '$2'\" >&2; }}\n")
    command_line.environment["MODULESHOME"] = str(tmp_path)
    site = command_line.site(environments={"command": {"modules": ["gcc/99"]}})
    experiment = "{name: ls, parameters: {framework: command, command: ls}, measure: {repetitions: 1}}"
    (command_line.workspace / "ls.yaml").write_text(experiment)
    command_line("sweep", "ls.yaml", "--site", site, expect=1)
    (record,) = command_line.records()
    assert record["status"] == "failed"
    assert record["error"]["message"] == f"module load gcc/99 failed: {words} 'gcc/99'"


def test_a_machine_without_modules_says_so(command_line, tmp_path):
    """An empty profile and /usr/share stand for a machine where nothing is installed."""
    if os.geteuid() != 0:
        pytest.skip("what is installed can be hidden by root only")
    (tmp_path / "empty").mkdir()
    hide = 'mount --bind /dev/null /etc/profile && mount --bind "$1" /usr/share && shift && exec "$@"'
    command_line.within = ["unshare", "--mount", "bash", "-c", hide, "bash", str(tmp_path / "empty")]
    sweep(command_line, ["python"], expect=1)
    (record,) = command_line.records()
    assert record["error"]["message"] == f"module command not found on {socket.gethostname()}"
