"""Which Python an environment is made with."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from hpcbench.config.recipe import Recipe, Step
from hpcbench.environments.interpreters import choose_python
from hpcbench.errors import UserError


def recipe(python: str) -> Recipe:
    return Recipe(description="for a test", python=python, imports=["tiny"], steps=[Step(install=["tiny==1.0"])])


@pytest.fixture
def fake_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with scripts that say they are Python 3.8.2, 3.9.9, and one that does not run; nothing else."""
    said = {"python3.8": "echo 3.8.2", "python3.9": "echo 3.9.9", "python3.10": "exit 1"}
    for name, line in said.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_python_that_runs_hpcbench_comes_first():
    chosen = choose_python("demo", recipe(">=3.8"), None)
    assert (chosen.path, chosen.version) == (sys.executable, platform.python_version())


def test_else_the_newest_that_fits_and_runs(fake_pythons):
    assert choose_python("demo", recipe("<3.11,!=3.10.*"), None).path == str(fake_pythons / "python3.9")
    assert choose_python("demo", recipe("<3.11"), None).version == "3.9.9"
    assert choose_python("demo", recipe("<3.9"), None).version == "3.8.2"


def test_where_none_fits_the_error_says_which_would(fake_pythons):
    with pytest.raises(UserError, match="Python for 'demo' not found on the PATH") as caught:
        choose_python("demo", recipe(">=3.6,<3.8"), None)
    assert "it works with Python >=3.6,<3.8" in caught.value.hint
    with pytest.raises(UserError) as caught:
        choose_python("demo", recipe(">=3.16,<3.19"), None)
    assert "it works with Python 3.16 to 3.18" in caught.value.hint
    with pytest.raises(UserError) as caught:
        choose_python("demo", recipe(">=3.17"), None)
    assert "it works with Python 3.17 and newer" in caught.value.hint


def test_a_python_that_the_user_names_must_fit(fake_pythons):
    assert choose_python("demo", recipe("<3.9"), "python3.8").version == "3.8.2"
    with pytest.raises(UserError, match=r"'demo' requires Python <3\.9, and this is 3\.9\.9") as caught:
        choose_python("demo", recipe("<3.9"), "python3.9")
    assert caught.value.where == "--python python3.9"


@pytest.mark.parametrize("name", ["python3.10", "no-such-python", "/", ""])
def test_what_is_no_python_is_refused(fake_pythons, name):
    with pytest.raises(UserError, match="is not a working Python"):
        choose_python("demo", recipe(">=3.8"), name)


def test_a_python_without_what_makes_virtual_environments_is_refused(tmp_path, monkeypatch):
    bare = tmp_path / "python3.9"
    bare.write_text('#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\necho 3.9.9\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(UserError, match="cannot create virtual environments") as caught:
        choose_python("demo", recipe(">=3.8"), "python3.9")
    assert "apt-get install python3.9-venv" in caught.value.hint
