"""What environments have installed, asked of real Pythons."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from hpcbench.config.site import Environment
from hpcbench.environments import packages
from hpcbench.environments.resolve import Resolved
from hpcbench.errors import UserError
from hpcbench.store.workspace import Workspace


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    packages._asked.cache_clear()


def resolved(python: str = sys.executable, **of_site: object) -> Resolved:
    return Resolved(Environment.model_validate(of_site), python)


def test_a_python_that_starts_here_tells_its_packages() -> None:
    told = packages.ask({"pytorch": resolved()})["pytorch"]
    assert told["packages"]["click"] == metadata.version("click")
    assert told["executable"] == sys.executable


@pytest.mark.parametrize(
    "of_site",
    [{"modules": ["gcc"]}, {"setup": ["true"]}, {"container": {"runtime": "charliecloud", "image": "/image"}}],
)
def test_one_that_a_node_must_bring_is_not_asked(of_site: dict[str, object]) -> None:
    assert packages.ask({"pytorch": resolved(**of_site)}) == {}


def test_one_that_does_not_answer_is_left_to_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "ANSWER_S", 0.3)
    scripts = {"slow": "exec sleep 5", "broken": "exit 1", "odd": "echo no json"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    asked = {name: resolved(str(tmp_path / name)) for name in (*scripts, "missing")}
    assert packages.ask(asked) == {}


OLD = "Python 3.8 or newer is required; {} is {}"


def test_a_python_that_is_too_old_is_refused_with_a_fake_python(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nprintf 3.6.8\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(UserError, match=re.escape(OLD.format(python, "3.6.8"))):
        packages.ask({"new": resolved(), "old": resolved(str(python))})


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_that_is_too_old_is_refused(version: str) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here; not run: asking it for its packages")
    with pytest.raises(UserError, match=re.escape(OLD.format(found[0], found[0].parents[1].name))):
        packages.ask({"pytorch": resolved(str(found[0]))})


def test_packages_of_the_login_shell_are_those_of_commands_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "mine-7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 7\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = packages.ask(
        {"command": resolved(), "pytorch": resolved(), "own": resolved(env={"PYTHONPATH": str(tmp_path)})}
    )
    assert {name: "mine" in each["packages"] for name, each in told.items()} == {
        "command": True,
        "pytorch": False,
        "own": True,
    }


@pytest.mark.parametrize("planted", ["environments", "environments/pytorch.json.{}-{}-7.part"])
def test_symbolic_links_of_other_users_are_not_followed(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcbench.core.files.time.monotonic_ns", lambda: 7)
    paths = Workspace(tmp_path).paths("s")
    (tmp_path / "target").mkdir()
    link = paths.results / planted.format(os.uname().nodename, os.getpid())
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "target" / ("file" if planted.endswith(".part") else ""))
    with pytest.raises(OSError, match="link"):
        packages.keep(paths, {"pytorch": {"python": "3.11", "packages": {}}})
    assert not list((tmp_path / "target").iterdir())


def test_what_is_kept_is_read(tmp_path: Path) -> None:
    paths = Workspace(tmp_path).paths("s")
    packages.keep(paths, {"pytorch": {"python": "3.11", "executable": "python", "packages": {"torch": "2"}}})
    told = packages.read(paths, "pytorch")
    assert told is not None
    assert told["packages"] == {"torch": "2"}
    assert told["told_by"]
    assert packages.read(paths, "jax") is None
    paths.packages("odd").write_text(json.dumps({"packages": 3}))
    assert packages.read(paths, "odd") is None
