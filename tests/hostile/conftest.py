from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.plan.plan import Plan, make_plan
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.create_sweep import create
from hpcbench.submit.zipapp import node_zipapp
from tests.hostile.values import Hostile, document

SOURCE = parse_yaml("{name: study}", "study.yaml")
FULL = 20  # times the quick part
PARAMETERS = {"framework": "command", "command": "true"}


@pytest.fixture(
    params=[1, pytest.param(FULL, marks=[pytest.mark.hostile, pytest.mark.long])],  # make test-all has both
    ids=["quick", "full"],
)
def tries(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Callable[[int], int]:
    """How many values to try, of which the quick part tries this many; they are counted for the summary."""

    def tried(count: int) -> int:
        record_property("hostile values", count * request.param)
        return count * int(request.param)

    return tried


@pytest.fixture
def hostile(tmp_path: Path, request: pytest.FixtureRequest) -> Hostile:
    return Hostile(len(request.node.name), tmp_path / "canary")


@pytest.fixture
def witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of every Python: it appends its arguments and its environment, NUL-separated, to its folder."""
    folder = tmp_path / "witness"
    folder.mkdir()
    program = folder / "python"
    program.write_text(f"""#!/bin/bash
printf '%s\\0' "$@" > {folder}/arguments.$$
env -0 > {folder}/environment.$$
""")
    program.chmod(0o755)
    node_zipapp()  # made once, by the Python that this is not
    monkeypatch.setattr(sys, "executable", str(program))
    return program


@pytest.fixture
def planned() -> Callable[..., Plan]:
    """Plan an experiment whose sections replace those of the smallest one there is, on such a site."""

    def make(site: dict[str, Any] | None = None, **sections: Any) -> Plan:
        content = {"name": "study", "parameters": PARAMETERS, "measure": {"repetitions": 1}, **sections}
        where = {"name": "here", "scheduler": "local", **(site or {})}
        experiment = document(content)
        return make_plan(load_experiment(experiment), experiment, load_site(document(where, "site.yaml")))

    return make


@pytest.fixture
def swept(tmp_path: Path, planned: Callable[..., Plan]) -> Callable[..., Sweep]:
    """Write a sweep of such an experiment; the second is another."""
    count = 0

    def make(site: dict[str, Any] | None = None, **sections: Any) -> Sweep:
        nonlocal count
        count += 1
        workspace = Workspace(tmp_path / "workspace")
        return create(
            workspace,
            workspace.paths(f"study-{count}"),
            planned(site, **sections),
            parse_yaml("{name: study}", "study.yaml"),
        )

    return make


@pytest.fixture
def bash(tmp_path: Path, hostile: Hostile) -> Callable[..., bytes]:
    """Run a script in a folder of its own; give what it printed. Whatever else happened is a failure."""
    folder = tmp_path / "cwd"
    folder.mkdir()

    def run(*words: str, status: int = 0, **variables: str) -> bytes:
        environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", **variables}
        done = subprocess.run(["bash", *words], cwd=folder, env=environment, capture_output=True, check=False)
        assert (done.stderr, done.returncode) == (b"", status)
        assert not hostile.canary.exists(), "a value was run"
        assert not list(folder.iterdir()), "a value wrote a file"
        return done.stdout

    return run
