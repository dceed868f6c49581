from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.slurm.client import using


@pytest.mark.parametrize("before", [None, "/etc/slurm/slurm.conf"])
def test_a_slurm_conf_is_used_within_the_block_only(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    if before:
        monkeypatch.setenv("SLURM_CONF", before)
    with using("/own/slurm.conf"):
        assert os.environ["SLURM_CONF"] == "/own/slurm.conf"
        with using(None):
            assert os.environ["SLURM_CONF"] == "/own/slurm.conf"
    assert os.environ.get("SLURM_CONF") == before
    with using(None):
        assert os.environ.get("SLURM_CONF") == before


@pytest.mark.parametrize("exists", [True, False])
def test_in_a_job_the_copy_of_the_node_is_used_if_the_file_is_missing_there(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "slurm.conf"
    if exists:
        own.touch()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_CONF", "/run/slurm/conf/slurm.conf")
    with using(str(own)):
        assert os.environ["SLURM_CONF"] == (str(own) if exists else "/run/slurm/conf/slurm.conf")
