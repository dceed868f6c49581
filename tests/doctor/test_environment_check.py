"""hpcbench env check: one step of training by the very scripts of a sweep, in a real PyTorch."""

from __future__ import annotations

import json
import os
import sys

import pytest

from hpcbench.core.frameworks import FRAMEWORKS


@pytest.mark.torch
def test_an_environment_that_works_is_told_with_its_version(command_line):
    said = command_line("env", "check", "pytorch", env={"HPCBENCH_SITE": "laptop"}).stdout
    assert said.startswith("pytorch: works: PyTorch 2.")
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}" in said
    assert "step time" in said
    assert list(command_line.workspace.rglob("*")) == []


@pytest.mark.torch
def test_a_check_takes_the_sites_own_way(command_line, tmp_path):
    """Modules, lines of shell and variables of the site are in force, on a cluster's site too."""
    python = tmp_path / "python of the site"
    python.write_text(f'#!/bin/sh\necho $WHO >> "{tmp_path}/by the python"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    settings = {"python": str(python), "setup": [f"touch '{tmp_path}/by the setup'"], "env": {"WHO": "site"}}
    site = command_line.site(scheduler="slurm", environments={"pytorch-own": settings})
    said = command_line("env", "check", "pytorch-own", "--site", site).stdout
    assert "pytorch-own: works" in said
    assert (tmp_path / "by the setup").exists()
    assert "site" in (tmp_path / "by the python").read_text().split()


@pytest.mark.torch
def test_what_does_not_work_is_told_with_its_last_lines(command_line, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "torch.py").write_text("raise ImportError('libcrucial.so.1: cannot open shared object')")
    settings = {"env": {"PYTHONPATH": str(tmp_path / "broken")}}
    site = command_line.site(environments={"pytorch-bad": settings, "pytorch": {}})
    done = command_line("env", "check", "pytorch-bad", "pytorch", "--site", site, expect=1)
    assert "error: pytorch-bad does not work: failed: libcrucial.so.1" in done.stderr
    assert "| ImportError: libcrucial.so.1" in done.stderr
    assert "pytorch: works" in done.stdout
    assert not (tmp_path / "jobs").exists()
    done = command_line("env", "check", "pytorch-bad", "pytorch", "--site", site, "--json", expect=1)
    bad, good = json.loads(done.stdout)
    assert (bad["environment"], bad["works"], bad["status"]) == ("pytorch-bad", False, "failed")
    assert "libcrucial.so.1" in bad["error"]
    assert any("libcrucial" in line for line in bad["last_lines"])
    assert (good["environment"], good["works"], good["framework"]) == ("pytorch", True, "pytorch")
    assert good["framework_version"].startswith("2.")


@pytest.mark.torch
def test_a_set_up_that_fails_is_told(command_line):
    site = command_line.site(environments={"pytorch": {"setup": ["false"]}})
    told = command_line("env", "check", "pytorch", "--site", site, expect=1).stderr
    assert "error: pytorch does not work: failed" in told


# The shipped environments of the other frameworks run in tests/frameworks/test_real_data.py, by the same scripts.
BUILT = ["mxnet", "onnxruntime", "horovod-pytorch"]
LONG = [*(name for name in FRAMEWORKS if name not in BUILT), "horovod-mxnet", "horovod-tensorflow"]


@pytest.mark.parametrize("name", [*BUILT, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)])
def test_every_shipped_environment_works(with_environments, name):
    said = with_environments(name)("env", "check", name, env={"HPCBENCH_SITE": "laptop"}).stdout
    assert said.startswith(f"{name}: works")
    assert ("tasks" in said) == (name.startswith("horovod") and len(os.sched_getaffinity(0)) > 1)
