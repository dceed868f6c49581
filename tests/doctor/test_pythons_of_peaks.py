"""Which Python beside that of the checkup may measure peaks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hpcbench.doctor.peaks import candidate_pythons
from hpcbench.environments.locations import VARIABLE
from hpcbench.store.workspace import Workspace


@pytest.fixture(autouse=True)
def none_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def test_that_of_the_environment_pytorch(site, tmp_path: Path) -> None:
    named = site(environments={"pytorch": {"python": sys.executable}})
    assert candidate_pythons(Workspace(tmp_path), named) == (sys.executable,)


@pytest.mark.parametrize(
    "pytorch",
    [
        {"python": "/nowhere/python"},
        {"modules": ["pytorch/2.6"]},
        {"modules": ["pytorch/2.6"], "python": sys.executable},
        {"setup": ["source activate"]},
        {"container": {"image": "pytorch.sif", "runtime": "apptainer"}},
    ],
)
def test_none_that_does_not_start_by_itself(site, tmp_path: Path, pytorch: dict[str, object]) -> None:
    assert candidate_pythons(Workspace(tmp_path), site(environments={"pytorch": pytorch})) == ()
