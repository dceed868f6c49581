"""What doctor says of environments, by running the Python of each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hpcbench.config.site import Site
from hpcbench.core.check_result import CheckResult, silent
from hpcbench.doctor import environments as doctor_environments
from hpcbench.environments import listing
from hpcbench.environments.locations import VARIABLE
from hpcbench.store.workspace import Workspace

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def none_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def look(root: Path, **environments: Any) -> dict[str, CheckResult]:
    """What is found, by subject, in this workspace and on a site with these environments."""
    site = Site.model_validate({"name": "here", "scheduler": "slurm", "environments": environments})
    return {
        finding.subject: finding for finding in doctor_environments.check_environments(Workspace(root), site, silent)
    }


def told(finding: CheckResult) -> tuple[str, str]:
    return finding.level, finding.found


def test_a_python_is_started_and_searched_for_its_framework(tmp_path: Path) -> None:
    packages = tmp_path / "packages" / "torch"
    packages.mkdir(parents=True)
    (packages / "__init__.py").write_text("raise SystemExit('it must not be imported')")
    variables = {"PYTHONPATH": str(packages.parent)}
    found = look(tmp_path, **{"pytorch-mine": {"python": sys.executable, "env": variables}})["pytorch-mine"]
    assert found.level == "ok"
    assert found.found.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}.")
    assert found.found.endswith("from the site")
    assert [path.name for path in tmp_path.iterdir()] == ["packages"], "nothing is left behind"


def test_a_python_without_its_framework_is_a_problem(tmp_path: Path) -> None:
    python = tmp_path / "bare python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # without any package
    python.chmod(0o755)
    found = look(tmp_path, **{"pytorch-bare": {"python": str(python)}})["pytorch-bare"]
    assert found.level == "problem"
    assert found.found.endswith("; missing module torch")
    assert "hpcbench env check pytorch-bare" in found.action


def test_a_python_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    found = look(tmp_path, pytorch={"python": "/nowhere/bin/python"})["pytorch"]
    assert told(found) == ("problem", "the Python of environment 'pytorch' does not exist: /nowhere/bin/python")
    assert "correct `environments`" in found.action


def test_a_set_up_that_fails_is_a_problem(tmp_path: Path) -> None:
    found = look(tmp_path, pytorch={"setup": ["false"]})["pytorch"]
    assert found.level == "problem"
    assert found.found.startswith("does not start: ")


def test_an_environment_whose_name_tells_no_framework_need_only_start(tmp_path: Path) -> None:
    assert look(tmp_path, mine={"python": sys.executable})["mine"].level == "ok"


def test_an_environment_that_is_only_half_built_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "envs" / "jax").mkdir(parents=True)
    (tmp_path / "envs" / "jax" / "hpcbench-building.json").write_text("{}")
    assert told(look(tmp_path, mine={"python": sys.executable})["jax"]) == ("warning", "incomplete")


def test_a_recipe_that_is_none_is_a_problem(tmp_path: Path) -> None:
    recipe = tmp_path / "configs" / "environments" / "pytorch-x.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text("description: 5\n")
    found = look(tmp_path, mine={"python": sys.executable})["pytorch-x"]
    assert found.level == "problem"
    assert "pytorch-x.yaml" in found.found


def test_a_container_that_srun_starts_is_not_tried_here(tmp_path: Path) -> None:
    found = look(tmp_path, pytorch={"container": {"runtime": "pyxis", "image": "a"}})["pytorch"]
    assert told(found) == ("note", "a container of pyxis, which only srun can start")


def test_what_is_not_built_is_named(tmp_path: Path) -> None:
    found = look(tmp_path, mine={"python": sys.executable})["not built"]
    assert found.level == "ok"
    assert "mxnet" in found.found


def test_a_machine_without_any_environment_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "is_beside_hpcbench", lambda recipe: False)
    (found,) = look(tmp_path).values()
    assert told(found) == ("warning", "none")
    assert "hpcbench env build pytorch" in found.action
