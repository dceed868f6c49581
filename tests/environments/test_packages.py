"""What environments have installed, asked of real Pythons."""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from hpcbench.config.site import Environment
from hpcbench.environments import packages
from hpcbench.environments.resolve import Resolved
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


@pytest.mark.parametrize("planted", ["environments", "environments/pytorch.json.{}-{}.part"])
def test_no_link_that_others_have_planted_is_followed(planted: str, tmp_path: Path) -> None:
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
