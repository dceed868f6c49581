"""The commands of the tutorials for clusters work in the order of the page, with PyTorch from a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import start_cluster
from tests.conftest import unavailable
from tools import transcripts

PAGES = [page for page in transcripts.PAGES if page.name != "README.md" and transcripts.on_slurm(page)]


@pytest.fixture(scope="module")
def mycluster():
    """A cluster with the name that the pages use."""
    if not Path("/etc/profile.d/modules.sh").exists() and not Path("/etc/profile.d/lmod.sh").exists():
        unavailable("environment modules are not installed: tools/modules")
    yield from start_cluster("mycluster", 11000, "yes")


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_commands_of_a_tutorial_work_on_slurm(page, mycluster, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    module = transcripts.pytorch_module(tmp_path)
    transcripts.run_page(page, home, {"SLURM_CONF": mycluster["SLURM_CONF"], **module})
